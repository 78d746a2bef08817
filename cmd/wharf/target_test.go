package main

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

func TestAddresses(t *testing.T) {
	for word, want := range map[string]string{
		"https://x.example/MCP": "https://x.example/MCP", "HTTP://x.example/": "http://x.example/", "Unix:///s": "unix:///s", "WS://x.example/m": "ws://x.example/m", "wss://x.example": "wss://x.example",
		"ftp://x.example": "", "x.example:80": "", "http:/x": "", "": "",
	} {
		if address, ok := atAddress(word); ok != (want != "") || ok && address != want {
			t.Errorf("%q: %q, %v", word, address, ok)
		}
	}
}

// What no message can hold is not sent as something else.
func TestToolThatIsNoText(t *testing.T) {
	out, err := exec.Command("wharf", "call", "demo", "ec\xffho", "message=x").CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != exit.CodeUsage || string(out) != "error: tool \"ec\\xffho\": not UTF-8 text\n" {
		t.Errorf("%v, %s", err, out)
	}
}
