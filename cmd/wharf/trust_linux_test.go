package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// checkout is a working folder that came from another person, and its user.
type checkout struct {
	t        *testing.T
	dir, own string
}

const checkedOut = `{"mcpServers": {"files": {"command": "wharf", "args": ["demo-server"], "env": {"A": "a\u001b[2J"}}}}`

func newCheckout(t *testing.T) *checkout {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &checkout{t, dir, t.TempDir()}
	c.file(checkedOut)
	return c
}

func (c *checkout) file(text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, ".mcp.json"), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// run runs wharf in the working folder, on a terminal.
func (c *checkout) run(args ...string) *screen {
	c.t.Helper()
	s := newScreen(c.t, []string{"NO_COLOR=1", "XDG_CONFIG_HOME=" + c.own, "HOME=" + c.own}, "wharf", args...)
	s.Dir = c.dir
	s.start()
	return s
}

const mayIt = "May it be used? yes, [n]o, never: "

// ends wants a command to end in a way. Where the rows of what it says are broken does not
// matter.
func (s *screen) ends(code int, says string) {
	s.t.Helper()
	unbroken := strings.NewReplacer("\n│", "", "\n  ", "", " ", "")
	if shown, got := s.end(); got != code || !strings.Contains(unbroken.Replace(shown), unbroken.Replace(says)) {
		s.t.Errorf("exit code %d, shown %q; want %d, and %q", got, shown, code, says)
	}
}

func TestTerminalAsksAboutAProject(t *testing.T) {
	c := newCheckout(t)
	s := c.run("files", "echo", "message=hello")
	shown := s.await(mayIt)
	for _, want := range []string{
		"files is a server that came with a project:\n", "│ project      " + c.dir + "\n", "│ file         .mcp.json\n", "│ arguments    demo-server\n", "│ environment  A\n", "\nhash  sha256:",
		"If you say yes, files may run the command, with all that you may do yourself:\n│ ",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in %q", want, shown)
		}
	}
	s.answer("", "?\r")
	if shown := s.await(mayIt); !strings.Contains(shown, "never: it is not used, and you are not asked again.") {
		t.Errorf("a question mark is answered with %q", shown)
	}
	s.answer("", "yes\r")
	s.ends(exit.CodeOK, "hello\n")

	s = c.run("files", "echo", "message=again")
	s.ends(exit.CodeOK, "again\n")
	if strings.Contains(s.seen, mayIt) {
		t.Errorf("asked again: %q", s.seen)
	}

	c.file(strings.Replace(checkedOut, `a\u001b`, `b\u001b`, 1))
	s = c.run("files", "echo", "message=changed")
	if shown := s.await(mayIt); !strings.Contains(shown, "It has changed since you decided on ") || !strings.Contains(shown, "\n│ environment A is another\n") {
		t.Errorf("shown: %q", shown)
	}
	s.answer("", "\r")
	s.ends(exit.CodeDenied, "error: files of "+c.dir+"/.mcp.json has changed since you decided about it (environment A), and is not approved\n")
}

// A server that cannot start as long as a variable is not set is not asked about.
func TestTerminalAsksAfterVariables(t *testing.T) {
	c := newCheckout(t)
	c.file(strings.Replace(checkedOut, `a\u001b[2J`, "${NO_SUCH_VARIABLE}", 1))
	s := c.run("tools", "files")
	s.ends(exit.CodeUsage, "server files: env.A: the variable NO_SUCH_VARIABLE is not set")
	if strings.Contains(s.seen, "came with a project") {
		t.Errorf("asked: %q", s.seen)
	}
}

// Everything but a yes is a no.
func TestTerminalTakesNoForAnAnswer(t *testing.T) {
	for _, keys := range []string{"\r", "n\r", "no\r", "\x04", "\x1b", "yes\x1b"} {
		s := newCheckout(t).run("tools", "files")
		s.answer(mayIt, keys)
		s.ends(exit.CodeDenied, "came with the project, and is not approved")
	}
	for _, last := range []string{"yep\r", "no\r"} { // what is no answer is asked again, thrice in all
		s := newCheckout(t).run("tools", "files")
		s.answer(mayIt, "ghp_s3cret\r")
		if shown := s.await(mayIt); !strings.Contains(shown, "That is no answer to this question.") {
			t.Errorf("shown: %q", shown)
		}
		s.answer("", "yes please\r")
		s.answer(mayIt, last)
		s.ends(exit.CodeDenied, "came with the project, and is not approved")
	}
	s := newCheckout(t).run("tools", "files")
	s.answer(mayIt, "ja\r")
	s.answer(mayIt, "yes\r")
	s.ends(exit.CodeOK, "echo")
	s = newCheckout(t).run("tools", "files")
	s.answer(mayIt, "\x03")
	s.ends(exit.CodeInterrupted, "interrupted")
}

// What was typed before the question is no answer to it.
func TestTerminalForgetsWhatWasTypedAhead(t *testing.T) {
	c := newCheckout(t)
	c.file(`{"mcpServers": {"a": {"command": "wharf"}, "b": {"command": "wharf"}}}`)
	s := c.run("trust", "approve", ".mcp.json")
	s.answer(mayIt, "n\ryes\r")
	s.answer(mayIt, "n\r")
	s.ends(exit.CodeDenied, "hint: a: `wharf trust approve a` asks you again\n  b: `wharf trust approve b` asks you again\n")
}

func TestTerminalRemembersNever(t *testing.T) {
	c := newCheckout(t)
	s := c.run("tools", "files")
	s.answer(mayIt, "never\r")
	s.ends(exit.CodeDenied, "files of "+c.dir+"/.mcp.json was denied by you\n")
	s = c.run("tools", "files")
	s.ends(exit.CodeDenied, "was denied by you")
	s = c.run("trust", "approve", "files")
	s.answer(mayIt, "yes\r")
	s.ends(exit.CodeOK, "files may be used from now on, as it is.\n")
	s = c.run("tools", "files")
	s.ends(exit.CodeOK, "echo")
}

// Nothing in a project steers the terminal, or hides on it.
func TestTerminalShowsAllOfAProject(t *testing.T) {
	c := newCheckout(t)
	c.file(`{"mcpServers": {"files": {"command": "wharf", "args": ["\u001b[2J\u001b[H", "\u202egnp", "a\u200bb", "x\ny", "` + strings.Repeat("word ", 200) + `", "end"],
		"env": {"E\u001b]0;x\u0007": "1"}}}}`)
	s := c.run("trust", "approve", "files")
	shown := s.await(mayIt)
	if strings.IndexFunc(withoutSpinner(shown), cleantext.IsUnsafe) >= 0 || strings.ContainsRune(shown, '\u200b') {
		t.Errorf("shown: %q", shown)
	}
	unbarred := strings.ReplaceAll(strings.ReplaceAll(shown, "\n│ "+strings.Repeat(" ", len("environment  ")), " "), "\n", " ")
	for _, want := range []string{`"\x1b[2J\x1b[H" "\u202egnp" "a\u200bb" "x\ny" "` + strings.Repeat("word ", 200) + `" end`, `"E\x1b]0;x\a"`} {
		if !strings.Contains(unbarred, want) {
			t.Errorf("%q is missing in %q", want, unbarred)
		}
	}
	s.answer("", "\r")
	s.ends(exit.CodeDenied, "not approved")

	s = c.run("servers")
	s.ends(exit.CodeOK, "project, not approved")
	s = c.run("trust", "list")
	s.ends(exit.CodeOK, "not approved")
}

// What is long is cut in a question, which says how to see all of it. That is of any
// length, and its rows have bars as well.
func TestTerminalCutsWhatIsLong(t *testing.T) {
	c := newCheckout(t)
	c.file(`{"mcpServers": {"talks": {"command": "node", "args": ["` + strings.Repeat("x", 60_000) + `", "the end"]}}}`)
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "node"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	s := c.run("trust", "approve", "talks")
	shown := s.await(mayIt)
	for _, want := range []string{
		"\n  (57 KiB more; `wharf trust show talks` prints all)\n",
		"\n! the code that this runs is not pinned (x", "…): it can\n  change without you being asked again\n",
		"\nIf you say yes, talks may run the command, with all that you may do yourself:\n│ " + bin,
		"\n  (58 KiB more; `wharf trust show talks` prints all)\n",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in %q", want, shown)
		}
	}
	s.answer("", "\r")
	s.ends(exit.CodeDenied, "not approved")

	s = c.run("trust", "show", "talks")
	all, code := s.end()
	if code != exit.CodeOK || strings.Count(all, "x") < 60_000 || !strings.Contains(all, `"the end"`) || strings.Contains(all, "\nx") {
		t.Errorf("exit code %d, %d bytes", code, len(all))
	}
}

// A list says which servers it did not look at.
func TestTerminalListSaysWhatItHasNotSeen(t *testing.T) {
	c := newCheckout(t)
	c.file(`{"mcpServers": {"a": {"command": "wharf", "args": ["huge"]}, "b": {"command": "wharf", "args": ["demo-server"]}}}`)
	for _, name := range []string{"a", "b"} {
		s := c.run("trust", "deny", name)
		s.ends(exit.CodeOK, "is not used, as it is")
	}
	huge := filepath.Join(c.dir, "huge")
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 1<<30); err != nil {
		t.Skip(err)
	}
	s := c.run("servers")
	s.ends(exit.CodeOK, "project, not looked at")
	s = c.run("trust", "list")
	shown, code := s.end()
	for _, want := range []string{"warning: 1 of these servers were not looked at: ", "at most 64 MiB\n│ are\n", "a       not looked at", "b       denied"} {
		if code != exit.CodeOK || !strings.Contains(shown, want) {
			t.Errorf("%q is missing in %q", want, shown)
		}
	}
}

// A warning about a project file that goes on over rows has bars, and an end.
func TestTerminalWarnsWithBars(t *testing.T) {
	c := newCheckout(t)
	c.file(`{"mcpServers": {"a": {"command": "wharf", "framing": "` + strings.Repeat("x ", 20_000) + `"}}}`)
	s := c.run("trust", "list")
	shown, code := s.end()
	if code != exit.CodeOK || strings.Contains(shown, "\nx") || !strings.Contains(shown, "\n│ x") || len(shown) > 2000 {
		t.Errorf("exit code %d, %d bytes: %.500q", code, len(shown), shown)
	}
}
