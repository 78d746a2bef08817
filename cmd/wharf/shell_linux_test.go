package main

import (
	"os"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// TestShell types at a shell: tools and keys are completed, a line comes back, Ctrl-C ends
// a line, an error does not end the shell, and Ctrl-D does.
func TestShell(t *testing.T) {
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
	s.answer("demo> ", "nosuch\r")
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
	s.answer("demo> ", "a\t")
	s.await("add ")
	s.answer("", "\x03")
	s.answer("demo> ", "p\t")
	s.await("ping prompt prompts\n")
	s.answer("demo> p", "\x03")
	s.answer("demo> ", "prompt greet name=G\t\r")
	s.await("Greet Grace.")
	s.answer("demo> ", "read demo://greeting/Al\t\r")
	s.await("Hello, Alan!")
	s.answer("demo> ", "\x04")
	if shown, code := s.end(); code != exit.CodeOK || strings.Contains(shown, "error") {
		t.Errorf("code %d, shown %q", code, shown)
	}
}
