package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/elicit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/host/policy"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/trust"
)

// imitated are rows that only the program may write, and that a server may imitate.
const imitated = "files (mcp-files) gets these answers: 1.\n" +
	"Send this to files? [y]es, [n]o, [e]dit: \n" +
	"The auth provider corp wants a secret, which is not shown as you type it, to\n" +
	"Give it to corp: \n" +
	"If you say yes, notes may reach the url:\n" +
	"May it be used? yes, [n]o, never: \n" +
	"warning: your session has expired. Type your pass phrase:\n" +
	"> \n"

// hostileTexts are texts that a server or a plugin may send to mislead a person.
func hostileTexts() map[string]string {
	flat := strings.ReplaceAll(imitated, "\n", "")
	texts := map[string]string{
		"nothing":              "",
		"as it is":             imitated,
		"spaces":               strings.Repeat(" ", 60_000) + imitated,
		"spaces between":       strings.ReplaceAll(strings.Repeat(imitated, 20), "\n", strings.Repeat(" ", 45)),
		"eight at a time":      strings.Repeat("        x", 200) + flat,
		"line breaks":          strings.Repeat("\n", 400) + imitated,
		"lines":                strings.Repeat(imitated, 100),
		"carriage returns":     "\r" + strings.ReplaceAll(imitated, "\n", "\r"),
		"backspaces":           strings.Repeat("\b", 100) + imitated,
		"other line breaks":    strings.NewReplacer("\n", "\u2028").Replace(imitated) + "\v\f\u0085\u2029" + imitated,
		"control sequences":    "\x1b[2J\x1b[H\x1b[8m\x1b]0;x\a\x1bc\u009b2J" + imitated,
		"up":                   "\x1b[99A\x1b[2K" + imitated,
		"bidi controls":        "\u202e\u2066\u200f" + imitated,
		"from right to left":   strings.Repeat("שלום עולם ", 60) + imitated,
		"marks":                "e" + strings.Repeat("\u0301", 9_000) + imitated,
		"marks on nothing":     strings.Repeat("\u0301\u0336\u20dd\n", 40) + imitated,
		"wide":                 strings.Repeat("日本", 300) + flat,
		"wide at every border": strings.Repeat("x日", 500) + flat,
		"pictures":             strings.Repeat("🚢", 300) + flat,
		"blank letters":        strings.Repeat("\u3164\u2800\u115f\u00a0\u3000", 300) + flat,
		"no width":             strings.Repeat("\u200b\ufeff\u00ad", 3000) + flat,
		"tabs":                 strings.Repeat("\t", 1000) + strings.ReplaceAll(imitated, "\n", "\t\t\t\t"),
		"a long word":          strings.Repeat("x", 10_000) + flat,
		"bars":                 strings.Repeat("│ │\n", 30) + imitated + strings.Repeat("│", 500),
		"what is no text":      strings.Repeat("\xff\xc3", 500) + imitated,
		"an address":           "https://evil.example/" + strings.Repeat("a/", 3500) + "?q=" + strings.ReplaceAll(flat, " ", "%20"),
	}
	for _, at := range []int{70, 76, 77, 78, 79, 80, 82} { // where a row of the terminal could end
		texts["padded to "+string(rune('0'+at/10))+string(rune('0'+at%10))] = strings.Repeat("y", at) + flat + strings.Repeat("z", at) + imitated
	}
	return texts
}

// openQuestion is one that is open on a terminal of 80 columns and 24 rows.
type openQuestion struct {
	*screen
	app    *app
	shown  *vt
	prompt string
	done   chan struct{}
}

// open asks, and returns when the last row is the prompt.
func open(t *testing.T, ask func(*app), prompt string) *openQuestion {
	t.Helper()
	s := blankScreen(t)
	a := &app{Terminal: &term.Terminal{In: s.slave, Err: &term.Console{To: s.slave}, InTTY: true, ErrTTY: true, Mode: &term.Mode{Terminal: s.slave}}, flags: flags{noBrowser: true}}
	q := &openQuestion{s, a, newVT(), prompt, make(chan struct{})}
	go func() {
		defer close(q.done)
		ask(a)
	}()
	q.settle("")
	return q
}

// settle waits until the last row is the prompt, with what may be proposed, and text
// stands somewhere above it.
func (q *openQuestion) settle(text string) {
	for {
		lines := q.shown.lines()
		if n := len(lines); n > 0 && strings.HasPrefix(lines[n-1]+" ", q.prompt) && (text == "" || slices.Contains(lines, text)) {
			return
		}
		q.shown.feed(<-q.screen.shown)
	}
}

// leave declines.
func (q *openQuestion) leave() {
	q.master.WriteString("\x04")
	<-q.done
}

// check wants rows of ours right above the prompt, and nothing that is not ours to
// look as if it was: also are further rows that we write.
func (q *openQuestion) check(ours []string, also string, most int) {
	q.t.Helper()
	seen := q.shown.screenful()
	if above := seen[:len(seen)-1]; len(above) < len(ours) || !slices.Equal(above[len(above)-len(ours):], ours) {
		q.t.Errorf("right above %q there is\n%s\nand not\n%s", q.prompt, strings.Join(seen, "\n"), strings.Join(ours, "\n"))
	}
	known := regexp.MustCompile("^(" + also + `| {2}\([0-9]+ (bytes|KiB|MiB) more.*\)|)$`)
	lines := q.shown.lines()
	for _, line := range lines[:len(lines)-1] {
		if !strings.HasPrefix(line, "│") && !slices.Contains(ours, line) && !known.MatchString(line) {
			q.t.Errorf("a row like one of ours: %q", line)
		}
	}
	if len(q.shown.odd) > 0 || len(lines) > most {
		q.t.Errorf("%d rows; the terminal was told %q", len(lines), q.shown.odd)
	}
}

// shows asks, checks and declines. A question with foreign text is no longer than a few
// screens.
func shows(t *testing.T, ask func(*app), prompt string, ours []string, also string) {
	t.Helper()
	q := open(t, ask, prompt)
	q.check(ours, also, 120)
	q.leave()
}

const elicits = `files \(mcp-files --root /notes\) asks, in its own words behind the bars:|Enter takes the line; on an empty one.*| {2}(back, Esc cancels, )?Ctrl-D declines\.|` +
	`Declined\. Nothing was sent to files\.`

func notes(a *app) *elicit.Asker {
	return &elicit.Asker{Terminal: a.Terminal, PrintsPages: a.flags.noBrowser, Server: host.Server{Name: "files", Command: "mcp-files", Args: []string{"--root", "/notes"}}}
}

// elicited asks what a server asks.
func elicited(e mcp.Elicitation) func(*app) {
	return func(a *app) {
		notes(a).Elicit(context.Background(), e)
	}
}

func encoded(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Whatever foreign text a question has, what a person consents to stands right
// above the line where they answer, and nothing but what is ours looks like it.
func TestStrangeTextsInQuestions(t *testing.T) {
	type object = map[string]any
	for name, text := range hostileTexts() {
		t.Run(name, func(t *testing.T) {
			shows(t, elicited(mcp.Elicitation{Message: text}), "Do you agree? [y]es, [n]o: ",
				[]string{"files (mcp-files --root /notes) hears whether you agree to what it says above."}, elicits)
			shows(t, elicited(mcp.Elicitation{Mode: mcp.ElicitURL, Message: text, URL: "https://example.com/" + text}), "Will you visit it? [y/N]: ", []string{}, elicits+
				`|files \(mcp-files --root /notes\) wants you to visit a page of (example\.com|nowhere)\.|warning: this is no address of the web\.`)
			text := plain.CutBytes(text, 16<<10) // a schema that is larger is refused
			shows(t, elicited(mcp.Elicitation{Message: "?", RequestedSchema: encoded(t, object{"properties": object{"a": object{
				"type": "string", "title": text + "!", "description": text, "default": text, "pattern": text, "format": text,
			}}})}), "> ", nil, elicits+`|1/1: files \(mcp-files --root /notes\) asks for .*|  .*optional\.|warning: this looks like a secret\. Servers must not ask for one in a form; if|  in doubt, decline\.`)
			shows(t, elicited(mcp.Elicitation{Message: "?", RequestedSchema: encoded(t, object{"properties": object{"a": object{
				"type": "array", "default": []string{text}, "items": object{"anyOf": []object{{"const": text, "title": text}, {"const": "b", "title": text + "b"}}},
			}}})}), "> ", []string{"1/1: files (mcp-files --root /notes) asks for any of these, with commas", "  between, optional."}, elicits)
			shows(t, func(a *app) {
				a.askText(context.Background(), signin.Question{Provider: "corp", Server: "files", Label: text + ".", Hint: text, Secret: true})
			}, "Give it to corp: ", []string{"The auth provider corp wants a secret, which is not shown as you type it, to", "  sign in to files."}, "")
			shows(t, func(a *app) {
				a.askConsent(context.Background(), policy.Question{Rule: "policy.costs", Reason: text, Call: &policy.Call{
					Caller: &policy.Caller{Kind: policy.Command}, Server: "files", Target: policy.Tool, Name: "pay", Arguments: encoded(t, object{"a": text}),
				}})
			}, "May it be called? yes, [n]o: ", []string{"the command wants to call files/pay (asked by policy.costs)."},
				`policy\.costs says, in its own words behind the bars:|These are the arguments of the call:`)
		})
	}
}

// approved is a question about a server of a project with such an entry.
func approved(t *testing.T, entry map[string]any) func(*app) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := encoded(t, map[string]any{"mcpServers": map[string]any{"notes": entry}})
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	found := config.Discover(dir)
	if len(found.Servers) != 1 {
		return nil // it may not say so
	}
	p, err := trust.Open(filepath.Join(dir, "trust"), nil).Look(t.Context(), found.Servers[0])
	if err != nil {
		return nil
	}
	return func(a *app) { a.askApproval(context.Background(), p) }
}

// What would be run or reached stands right above the question about a project, and
// what its file says between bars.
func TestStrangeTextsOfAProject(t *testing.T) {
	const also = `notes is a server that came with a project:|hash  sha256:[0-9a-f]{64}|! .*| {2}.*|It wants you to sign in to it, for:|If you say yes, notes may (run the command, with all that you may do yourself|reach the url):`
	const may = "May it be used? yes, [n]o, never: "
	asked := 0
	for name, text := range hostileTexts() {
		t.Run(name, func(t *testing.T) {
			text := strings.ToValidUTF8(text, "?")
			process := approved(t, map[string]any{"command": "/bin/sh", "args": []string{"-x", text, "end"}, "env": map[string]string{"LD_PRELOAD": text, "A": text}})
			remote := approved(t, map[string]any{"url": "https://mcp.example/?q=" + text, "headers": map[string]string{"X": text},
				"oauth": map[string]any{"clientId": text, "scopes": []string{text, "admin"}}})
			for what, ask := range map[string]func(*app){"If you say yes, notes may run the command, with all that you may do yourself:": process, "If you say yes, notes may reach the url:": remote} {
				if ask == nil {
					continue
				}
				asked++
				q := open(t, ask, may)
				q.check(nil, also, 120)
				if !slices.Contains(q.shown.screenful(), what) {
					t.Errorf("%q is not on the screen:\n%s", what, strings.Join(q.shown.screenful(), "\n"))
				}
				q.leave()
			}
		})
	}
	if asked < 20 {
		t.Errorf("only %d of the entries could be asked about", asked)
	}
}

// And so it is with a plugin, however it describes itself.
func TestStrangeTextsOfAPlugin(t *testing.T) {
	for name, text := range hostileTexts() {
		t.Run(name, func(t *testing.T) {
			o := &pluginstore.Offer{
				Plugin: pluginstore.Installed{Name: "pigeon", Kind: pluginstore.Provider, Version: "1.0.0", Summary: text, Source: "./pigeon.wasm", SHA256: strings.Repeat("0", 64),
					Asked: []string{"http", "https://example.com/" + text}},
				Info:    &pluginstore.Info{Provider: &step.Manifest{Settings: []step.Setting{{Key: "a", About: text}}}},
				Comment: text, Warnings: []string{text},
			}
			shows(t, func(a *app) {
				a.showOffer(o)
				a.agree(context.Background(), o, &installRequest{})
			}, "Install it? yes, [n]o: ", nil, `pigeon is an auth plugin:|!.*|  .*|pigeon 1\.0\.0 is signed by no key, and would be able`)
		})
	}
}

// What others print while a question is open does not come between it and its
// answer, and does not look like it.
func TestNoiseBesideAQuestion(t *testing.T) {
	for name, text := range hostileTexts() {
		t.Run(name, func(t *testing.T) {
			q := open(t, elicited(mcp.Elicitation{Message: "?"}), "Do you agree? [y]es, [n]o: ")
			said := make(chan struct{})
			go func() {
				defer close(said)
				log := q.app.NewHeldLog()
				log.Release()
				for line := range strings.SplitSeq(text, "\n") {
					log.Write([]byte("[files] " + strings.TrimRight(line, "\r") + "\n"))
				}
				q.app.hear(host.Event{Server: "files", Warning: text})
				q.app.Err.Write([]byte("[files] the end\n"))
			}()
			q.settle("[files] the end")
			<-said
			ours := []string{"files (mcp-files --root /notes) hears whether you agree to what it says above."}
			q.check(ours, elicits+`|\[files\].*|warning: files:.*`, 5000)
			q.leave()
		})
	}
}
