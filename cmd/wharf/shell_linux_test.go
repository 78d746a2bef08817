package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// In a shell values with blanks are completed, as a word that is escaped or quoted.
func TestShellEscapesValues(t *testing.T) {
	s := newScreen(t, []string{"NO_COLOR=1"}, "wharf", "shell", "--", "server-counts")
	s.start()
	s.answer("server-counts> ", "city name=N\tY\t\r")
	s.await("it is New York, here")
	s.answer("server-counts> ", "city 'name=St\t\r")
	s.await("it is St. John's, here")
	s.answer("server-counts> ", "\x04")
	s.end()
}

// TestShell types at a shell: tools and keys are completed, a line comes back, Ctrl-C ends
// a line, an error does not end the shell, and Ctrl-D does.
func TestShell(t *testing.T) {
	t.Parallel()
	s := newScreen(t, []string{"NO_COLOR=1"}, "wharf", "shell", "demo")
	s.start()
	s.await(`demo: 5 tools; "tools" lists them`)
	s.answer("demo> ", "ec\tmes\thello\r")
	s.await("message=hello\n")
	s.await("hello\n")
	s.answer("demo> ", "\x1b[A\r")
	s.await("message=hello\n")
	s.await("hello\n")
	s.answer("demo> ", "half a line\x03")
	s.answer("\ndemo> ", "nosuch\r") // the next line: what is read together with Ctrl-C is dropped
	s.await("error: ")
	s.await("unknown tool")
	s.answer("demo> ", "slow seconds=60\r")
	s.await("/60")
	if err := s.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	s.await("error: interrupted")
	s.answer("demo> ", "watch demo://clock\r") // which ends so, and has not failed
	s.await("changed: ")
	if err := s.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	s.answer("\n\ndemo> ", "a\t") // not behind the ^C of a terminal
	s.await("add ")
	s.answer("", "\x15p\t") // not Ctrl-C, whose new prompt looks like that of a line drawn anew below the clock's next change
	s.await("ping prompt prompts\n")
	s.answer("demo> p", "rompt greet name=G\t\r")
	s.await("Greet Grace.")
	s.answer("demo> ", "read demo://greeting/Al\t\r")
	s.await("Hello, Alan!")
	s.answer("demo> ", "\x04")
	if shown, code := s.end(); code != exit.CodeOK || strings.Contains(shown, "error") {
		t.Errorf("code %d, shown %q", code, shown)
	}
}

// A line with letters that take two columns or none is drawn as what is sent, also where it is
// edited in its middle, and where it is longer than a row. Joiners are sent and not drawn.
func TestShellDrawsWideLetters(t *testing.T) {
	s := newScreen(t, []string{"NO_COLOR=1"}, "wharf", "shell", "demo")
	s.start()
	screen, want := newVT(), []string(nil)
	long := strings.Repeat("日本語", 12)
	for _, tt := range []struct{ typed, sent string }{
		{"こんにちは\x7f\x7f\x7f\x1b[DX", "こXん"},
		{"ae\u0301x\x1b[D\x1b[D\x1b[DY", "aYe\u0301x"},
		{"a👩\u200d💻b\x1b[DZ", "a👩\u200d💻Zb"},
		{long + "end\x1b[D\x7f!", long + "e!d"},
	} {
		s.answer("demo> ", "echo message="+tt.typed+"\r")
		screen.feed("demo> " + strings.ReplaceAll(s.await("\n"+tt.sent+"\n"), "\n", "\r\n") + "\r\n")
		want = append(want, "demo> echo message="+strings.ReplaceAll(tt.sent, "\u200d", ""))
	}
	last := []rune(want[len(want)-1])
	want = append(want[:len(want)-1], string(last[:49]), string(last[49:])) // 19 and 30 letters in 79 columns
	if got := screen.lines(); !slices.Equal(got, want) || len(screen.odd) > 0 {
		t.Errorf("shown %q, want %q; odd %q", got, want, screen.odd)
	}
	s.answer("demo> ", "\x04")
	s.end()
}

// Ctrl-C at a question of the server ends that question and the line, and the shell goes on.
func TestInterruptKeyInQuestionOfShell(t *testing.T) {
	s := newScreen(t, []string{"NO_COLOR=1"}, "wharf", "shell", "--stderr", "--", "server-asks")
	s.start()
	s.answer("server-asks> ", `elicitation/create message=? requestedSchema:='{"properties":{"a":{"type":"string"}}}'`+"\r")
	s.answer("optional.\n> ", "half\x03")
	s.await(`answered {"action":"cancel"}`)
	s.answer("server-asks> ", `sampling/createMessage --args '{"messages":[],"maxTokens":1}'`+"\r")
	s.answer("Your answer: ", "half\x03")
	s.await(`answered {"code":-1,`)
	s.answer("server-asks> ", "offers\r")
	s.await(`"elicitation": {`)
	s.answer("server-asks> ", "\x04")
	if shown, code := s.end(); code != exit.CodeOK {
		t.Errorf("code %d, shown %q", code, shown)
	}
}

// Ctrl-C at the reading of an object ends the line; the lines that follow are read by the
// shell. What is typed ahead of the reading is read.
func TestInterruptAtStdinInShell(t *testing.T) {
	s := newScreen(t, []string{"NO_COLOR=1"}, "wharf", "shell", "demo")
	s.start()
	for _, line := range []string{"echo -\r", "echo --args -\r"} {
		s.answer("demo> ", line)
		s.await("Ctrl-D on a new line ends it.\n")
		if err := s.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		s.await("error: interrupted\n")
		s.answer("demo> ", "echo one\r")
		s.await("echo one\none\n")
	}
	s.answer("demo> ", "echo -\r{\"message\":\r\"ahead\"}\r")
	s.answer("Ctrl-D on a new line ends it.\n", "\x04")
	s.await("ahead\n")
	s.answer("demo> ", "\x04")
	if shown, code := s.end(); code != exit.CodeOK {
		t.Errorf("code %d, shown %q", code, shown)
	}
}

// A server that has ended is started anew, and the person is told.
func TestShellTellsOfNewConnection(t *testing.T) {
	s := newScreen(t, []string{"NO_COLOR=1"}, "wharf", "shell", "--", "server-counts")
	s.start()
	s.answer("server-counts> ", "next\r")
	s.await("next\n1\n")
	s.answer("server-counts> ", "die\r")
	s.await("error: ")
	shown := s.await("server-counts> ") // the server may have been connected anew by now
	s.answer("", "next\r")
	if shown += s.await("\n1\n"); !strings.Contains(shown, "warning: server-counts was connected anew") {
		t.Errorf("shown %q", shown)
	}
	s.answer("server-counts> ", "next\r")
	s.await("next\n2\nserver-counts> ")
	s.answer("", "\x04")
	s.end()
}

// What a server logs is told as watch tells it, and once.
func TestShellWatchesLog(t *testing.T) {
	s := newScreen(t, []string{"NO_COLOR=1"}, "wharf", "shell", "--", "server-tasks")
	s.start()
	s.answer("server-tasks> ", "watch --log alert\r")
	s.await(" alert a wolf\n")
	if err := s.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if shown := s.await("server-tasks> "); strings.Contains(shown, "wolf") {
		t.Errorf("shown %q", shown)
	}
	s.answer("", "\x04")
	s.end()
}
