package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/elicit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// asked is a call that has a server ask the person at a terminal something.
func asked(t *testing.T, method, params string) *screen {
	t.Helper()
	s := newScreen(t, []string{"NO_COLOR=1"}, "wharf", "call", method, "--args", params, "--stderr", "--", "server-asks", "--api-key", "hunter2")
	s.start()
	return s
}

// filledIn has a person at a terminal answer a server by the given keys, and
// returns what the server gets. Prompts and keys take turns.
func filledIn(t *testing.T, a *app, e mcp.Elicitation, turns ...string) (result mcp.ElicitResult, s *screen, err error) {
	t.Helper()
	s = blankScreen(t)
	a.In, a.Err, a.ErrTTY, a.Mode = s.slave, &term.Console{To: s.slave}, true, &term.Mode{Terminal: s.slave}
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = (&elicit.Asker{Terminal: a.Terminal, PrintsPages: a.flags.noBrowser, Server: host.Server{Name: "files", Command: "mcp-files"}}).Elicit(t.Context(), e)
	}()
	for turn := range slices.Chunk(turns, 2) {
		s.answer(turn[0], turn[1])
	}
	<-done
	s.restored(s.modes())
	return result, s, err
}

const wholeForm = `{"message":"Who are\u001b[2J you?","requestedSchema":{"type":"object","required":["name","kind"],"properties":{
	"name":{"type":"string","title":"Your\u001b name","description":"As in your\npassport","minLength":3,"maxLength":9},
	"mail":{"type":"string","format":"email"},
	"age":{"type":"integer","minimum":0,"maximum":150,"default":36},
	"weight":{"type":"number"},
	"kind":{"type":"string","oneOf":[{"const":"p","title":"Person"},{"const":"s","title":"Ship\u202e"}]},
	"wants":{"type":"array","items":{"type":"string","enum":["tea","milk","sugar"]},"maxItems":2,"default":["tea"]},
	"sure":{"type":"boolean","default":true},
	"token":{"type":"string"}}}}`

func TestForm(t *testing.T) {
	s := asked(t, "elicitation/create", wholeForm)
	origin := s.await("> ")
	for _, want := range []string{"server-asks (server-asks --api-key ***) asks, in its own words behind", "│ Who are\\x1b[2J you?\n",
		"│ Your\\x1b name\n│ As in your\n│ passport\n1/8: server-asks (server-asks --api-key ***) asks for text, 3 or more\n  characters, at most 9 characters, required.\n"} {
		if !strings.Contains(origin, want) {
			t.Errorf("%q is missing in %q", want, origin)
		}
	}
	s.seen = "> " + s.seen
	s.answer("> ", "Al\r")
	s.await("too short: its length is 2; want 3 or more\n")
	s.answer("> ", "\x1b[Aan\r") // the line above, and more
	s.answer("│ mail\n2/8: server-asks (server-asks --api-key ***) asks for email, optional.\n> ", "alan\r")
	s.await("want an e-mail address, such as ada@example.com\n")
	s.answer("> ", "alan@example.com\r")
	s.answer("asks for a whole number, 0 or\n  more, at most 150, optional.\n> 36", "\x7f\x7f200\r")
	s.await("200 is too large; want 150 or less\n")
	s.answer("> 36", "\x7f\x7f41\r")
	s.answer("asks for a number, optional.\n> ", "\r")
	s.answer("│ kind\n│   1) Person\n│   2) Ship\\u202e\n5/8: server-asks (server-asks --api-key ***) asks for one of these, required.\n> ", "\r")
	s.await("an answer is required\n")
	s.answer("> ", "2\r")
	s.answer("> tea", ", sugar\r")
	s.answer("> yes", "\r")
	s.answer("warning: this looks like a secret. Servers must not ask for one in a form; if\n  in doubt, decline.\n8/8: server-asks (server-asks --api-key ***) asks for text, optional.\n> ", "\r")
	review := s.await("Send this to server-asks? [y]es, [n]o, [e]dit: ")
	if want := "│ Your\\x1b name: Alan\n│ mail: alan@example.com\n│ age: 41\n│ kind: Ship\\u202e\n│ wants: tea, sugar\n│ sure: yes\nserver-asks (server-asks --api-key ***) gets these answers: 6.\n"; !strings.HasSuffix(review, want) {
		t.Errorf("to be sent: %q, want %q", review, want)
	}
	s.answer("", "e\r")
	s.answer("> Alan", "\r")
	s.answer("> alan@example.com", "\x15\r") // without, after all
	for _, prompt := range []string{"> 41", "│ weight", "> s", "> tea, sugar", "> yes", "│ token"} {
		s.answer(prompt, "\r")
	}
	s.answer("Send this to", "yes\r")
	shown, code := s.end()
	if want := term.Indented(json.RawMessage(`{"action":"accept","content":{"age":41,"kind":"s","name":"Alan","sure":true,"wants":["tea","sugar"]}}`)) + "\n"; code != exit.CodeOK || !strings.Contains(shown, want) {
		t.Errorf("exit code %d, shown %q, want %q", code, shown, want)
	}
}

// The ways out of a form, which are there at each question.
func TestFormIsLeft(t *testing.T) {
	const one = `{"properties":{"a":{"type":"string"}}}`
	for _, tt := range []struct {
		name, schema string
		turns        []string
		want         string
	}{
		{"esc", one, []string{"> ", "half an answer\x1b"}, `{"action":"cancel"}`},
		{"ctrl-d", one, []string{"> ", "half an answer\x04"}, `{"action":"decline"}`},
		{"esc at the end", one, []string{"> ", "\r", "Send this to", "\x1b"}, `{"action":"cancel"}`},
		{"ctrl-d at the end", one, []string{"> ", "\r", "Send this to", "\x04"}, `{"action":"decline"}`},
		{"no", one, []string{"> ", "\r", "Send this to", "what\r", "That is no answer to this question.\nSend this to", "n\r"}, `{"action":"decline"}`},
		{"nothing to fill in", "", []string{"Do you agree?", "y\r"}, `{"action":"accept"}`},
		{"nothing, and no", "{}", []string{"Do you agree?", "No\r"}, `{"action":"decline"}`},
		{"an arrow is no esc", one, []string{"> ", "b\x1b[Da\r", "│ a: ab\nfiles (mcp-files) gets these answers: 1.\nSend this to", "y\r"}, `{"action":"accept","content":{"a":"ab"}}`},
		{"back", `{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, []string{"> ", "one\r", "> ", "half an answer\x1b[Z", "> one", "\x15uno\r", "> ", "two\r", "Send this to", "y\r"},
			`{"action":"accept","content":{"a":"uno","b":"two"}}`},
		{"no back from the first", one, []string{"> ", "\x1b[Zc\r", "Send this to", "y\r"}, `{"action":"accept","content":{"a":"c"}}`},
		{"a number behind a proposal", `{"properties":{"a":{"type":"string","enum":["red","blue"],"default":"red"}}}`, []string{"> red", "2\r", "Send this to", "y\r"}, `{"action":"accept","content":{"a":"blue"}}`},
		{"no behind a proposal", `{"properties":{"a":{"type":"boolean","default":true}}}`, []string{"> yes", "n\r", "Send this to", "y\r"}, `{"action":"accept","content":{"a":false}}`},
		{"numbers behind a proposal", `{"properties":{"a":{"type":"array","items":{"enum":["red","blue"]},"default":["red"]}}}`, []string{"> red", "1,2\r", "Send this to", "y\r"}, `{"action":"accept","content":{"a":["red","blue"]}}`},
		{"options that differ at their end", `{"properties":{"a":{"type":"string","enum":["` + strings.Repeat("word ", 18) + `east","` + strings.Repeat("word ", 18) + `west"]}}}`,
			[]string{"east\n", "", "west\n", "", "> ", "2\r", "Send this to", "y\r"}, `west"}}`},
		{"a proposal after a mistake", `{"properties":{"a":{"type":"string","enum":["red","blue"],"default":"red"}}}`, []string{"> red", "x\r", "not one of them", "", "> red", "\r", "Send this to", "y\r"}, `{"action":"accept","content":{"a":"red"}}`},
		{"typed ahead", one, []string{"> ", "a\ry\r", "Send this to", "n\r"}, `{"action":"decline"}`},
		{"what is no question", `{"properties":{"a":{"type":"object"}}}`, nil, `the requested schema: a: type "object" cannot be asked for`},
		{"what is no schema", `{"properties":7}`, nil, `the requested schema: json: cannot unmarshal`},
		{"an array of anything", `{"properties":{"a":{"type":"array"}}}`, nil, `the requested schema: a: an array`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, _, err := filledIn(t, &app{Terminal: new(term.Terminal)}, mcp.Elicitation{Message: "?", RequestedSchema: json.RawMessage(tt.schema)}, tt.turns...)
			got, _ := json.Marshal(result)
			if err != nil {
				got = []byte(err.Error())
			}
			if !strings.Contains(string(got), tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// What was pasted with the command consents to nothing that it shows.
func TestPastedConsent(t *testing.T) {
	s := blankScreen(t)
	if _, err := io.WriteString(s.master, "yes\r"); err != nil {
		t.Fatal(err)
	}
	there := []unix.PollFd{{Fd: int32(s.slave.Fd()), Events: unix.POLLIN}}
	if _, err := unix.Poll(there, -1); err != nil {
		t.Fatal(err)
	}
	a := &app{Terminal: &term.Terminal{In: s.slave, Err: &term.Console{To: s.slave}, Mode: &term.Mode{Terminal: s.slave}}}
	answers := make(chan mcp.ElicitResult, 1)
	go func() {
		answer, _ := (&elicit.Asker{Terminal: a.Terminal, Server: host.Server{Name: "files"}}).Elicit(t.Context(), mcp.Elicitation{Message: "?"})
		answers <- answer
	}()
	s.answer("Do you agree?", "n\r")
	if answer := <-answers; answer.Action != mcp.ElicitDecline {
		t.Errorf("the answer is %q", answer.Action)
	}
}

// What others have to say goes above the line at which a person types.
func TestFormAndOthers(t *testing.T) {
	s := blankScreen(t)
	c := &term.Console{To: s.slave}
	k := &term.Terminal{In: s.slave, Mode: &term.Mode{Terminal: s.slave}, Err: c}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := k.Ask(ctx, term.Question{Prompt: "> ", Proposed: "half "})
		failed <- err
	}()
	s.answer("> half ", "an answer")
	s.await("an answer")
	c.Show("a moving line")
	c.Write([]byte("[files] a line\n"))
	s.await("[files] a line\n> half an answer")
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.restored(s.modes())
	c.Write([]byte("[files] another\n"))
	s.await("\n[files] another\n")
}

func TestInterruptKeyInForm(t *testing.T) {
	s := asked(t, "elicitation/create", `{"message":"?","requestedSchema":{"properties":{"a":{"type":"string"}}}}`)
	s.answer("> ", "half\x03")
	s.await("told to stop") // the server, of the call
	shown, code := s.end()
	if code != exit.CodeInterrupted || !strings.Contains(shown, "error: interrupted\n") {
		t.Errorf("exit code %d, shown %q", code, shown)
	}
}

// No page is opened unasked, and none that is not what it seems without a word.
func TestPageOfAServer(t *testing.T) {
	dir := t.TempDir()
	opened, browser := filepath.Join(dir, "opened"), filepath.Join(dir, "browser")
	if err := os.WriteFile(browser, []byte("#!/bin/sh\nprintf %s \"$1\" >"+opened+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BROWSER", browser)
	t.Setenv("NO_BROWSER", "")
	const page = "https://example.com/x?y=1"
	const open, visit = "Open it in your browser? [y/N]: ", "Will you visit it? [y/N]: "
	for _, tt := range []struct {
		name, url, prompt, keys string
		want, action, opened    string
	}{
		{"yes", page, open, "y\r", "│ " + page + "\nfiles (mcp-files) wants you to visit a page of example.com.\n", mcp.ElicitAccept, page},
		{"no is what nothing means", page, open, "\r", "", mcp.ElicitDecline, ""},
		{"no answer, and no", page, open, "?\rno\r", "", mcp.ElicitDecline, ""},
		{"no answer, and yes", page, open, "?\ry\r", "", mcp.ElicitAccept, page},
		{"esc", page, open, "\x1b", "", mcp.ElicitCancel, ""},
		{"another machine", page, visit, "y\r", "", mcp.ElicitAccept, ""},
		{"no page of the web", "file:///etc/passwd", open, "y\r", "warning: this is no address of the web.", mcp.ElicitDecline, ""},
		{"not encrypted", "http://example.com/", open, "y\r", "warning: the connection to it is not encrypted.", mcp.ElicitDecline, ""},
		{"not what it seems", "https://xn--exmple-cua.com/", open, "n\r", "letters that can look like others", mcp.ElicitDecline, ""},
		{"a name before the name", "https://example.com@evil.example/", open, "y\r", "a page of evil.example.", mcp.ElicitDecline, ""},
		{"nowhere", "\x1b]0;", open, "y\r", `\x1b]0;`, mcp.ElicitDecline, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			os.Remove(opened)
			visited := make(chan string, 1)
			unasked := func() bool {
				_, err := os.Stat(opened)
				return err == nil && tt.opened == "" || len(visited) > 0
			}
			if tt.opened != "" { // through a pipe: a browser may take its time
				if err := unix.Mkfifo(opened, 0o600); err != nil {
					t.Fatal(err)
				}
				go func() {
					text, _ := os.ReadFile(opened)
					visited <- string(text)
				}()
			}
			a := &app{Terminal: new(term.Terminal), flags: flags{noBrowser: tt.prompt == visit}}
			// The keys come after the look at what was opened: see the turns.
			s := blankScreen(t)
			a.In, a.Err, a.ErrTTY, a.Mode = s.slave, &term.Console{To: s.slave}, true, &term.Mode{Terminal: s.slave}
			got := make(chan mcp.ElicitResult)
			go func() {
				result, _ := (&elicit.Asker{Terminal: a.Terminal, PrintsPages: a.flags.noBrowser, Server: host.Server{Name: "files", Command: "mcp-files"}}).Elicit(t.Context(), mcp.Elicitation{Mode: mcp.ElicitURL, Message: "Sign here", URL: tt.url})
				got <- result
			}()
			if before := s.await(tt.prompt); !strings.Contains(before, tt.want) {
				t.Errorf("shown %q, want %q", before, tt.want)
			}
			if unasked() {
				t.Error("the page was opened unasked")
			}
			s.answer("", tt.keys)
			if result := <-got; result.Action != tt.action || result.Content != nil {
				t.Fatalf("%+v, want %s", result, tt.action)
			}
			if tt.opened == "" {
				text, _ := os.ReadFile(opened)
				visited <- string(text)
			}
			if text := <-visited; text != tt.opened {
				t.Errorf("opened %q, want %q", text, tt.opened)
			}
		})
	}
}

// Where no browser opens, the person is asked whether they visit the page by themselves.
func TestPageWithoutABrowser(t *testing.T) {
	t.Setenv("BROWSER", "false")
	t.Setenv("NO_BROWSER", "")
	for keys, action := range map[string]string{"y\r": mcp.ElicitAccept, "n\r": mcp.ElicitDecline} {
		s := blankScreen(t)
		a := &elicit.Asker{Server: host.Server{Name: "files", Command: "mcp-files"}, Terminal: &term.Terminal{
			In: s.slave, Err: &term.Console{To: s.slave}, ErrTTY: true, Mode: &term.Mode{Terminal: s.slave},
		}}
		got := make(chan mcp.ElicitResult)
		go func() {
			result, _ := a.Elicit(t.Context(), mcp.Elicitation{Mode: mcp.ElicitURL, Message: "Sign here", URL: "https://example.com/x"})
			got <- result
		}()
		s.answer("Open it in your browser? [y/N]: ", "y\r")
		if said := s.await("Will you visit it? [y/N]: "); !strings.Contains(said, "or open the page by its address") {
			t.Errorf("shown %q", said)
		}
		s.answer("", keys)
		if result := <-got; result.Action != action {
			t.Errorf("%q: %+v", keys, result)
		}
	}
}

// A bar is gone before anything else is printed, and the server is told to stop, and
// has heard it before it is left alone: it is asked for a sign of life after that.
func TestProgressAndInterrupt(t *testing.T) {
	s := asked(t, "work", `{}`)
	s.await(`━━━━━━━━━━────────── 50% 1/2 half\x1bway`)
	s.Process.Signal(os.Interrupt)
	s.await("told to stop")
	s.await("pinged")
	shown, code := s.end()
	if at := strings.LastIndex(shown, clearLine); code != exit.CodeInterrupted || !strings.HasSuffix(shown, "error: interrupted\n") || strings.ContainsAny(shown[max(at, 0):], spinnerFrames) {
		t.Errorf("exit code %d, shown %q", code, shown)
	}
}

// A program that ends on the spot restores the terminal, whether it asks or not.
func TestSecondInterruptRestoresTheTerminal(t *testing.T) {
	s := newScreen(t, nil, "signals")
	s.start()
	s.await("ready")
	s.Process.Signal(os.Interrupt)
	s.await("interrupted")
	s.Process.Signal(os.Interrupt)
	s.await("hurried")
	s.Process.Signal(os.Interrupt)
	if _, code := s.end(); code != exit.CodeInterrupted {
		t.Errorf("exit code %d", code)
	}
}

// A secret is not shown, neither by the editor nor by the terminal.
func TestSecretIsNotShown(t *testing.T) {
	s := blankScreen(t)
	k := &term.Terminal{In: s.slave, Mode: &term.Mode{Terminal: s.slave}, Err: &term.Console{To: s.slave}}
	got := make(chan string)
	go func() {
		for _, secret := range []bool{true, false} {
			text, err := k.Ask(t.Context(), term.Question{Prompt: "> ", Secret: secret})
			got <- fmt.Sprint(text, err)
		}
	}()
	s.answer("> ", "hunter2\r")
	if secret := <-got; secret != "hunter2<nil>" {
		t.Error(secret)
	}
	s.answer("> ", "next\r")
	if open := <-got; open != "next<nil>" {
		t.Error(open)
	}
	s.await("next")
	if strings.Contains(s.seen, "hunter2") {
		t.Errorf("shown %q", s.seen)
	}
}
