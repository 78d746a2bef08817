package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// TestProgramRunsNothingOfAServer: what a server says is shown by the program, and no part of
// it is run.
func TestProgramRunsNothingOfAServer(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	hostile := "'; echo INJECTED; $(echo INJECTED) `echo INJECTED` \\\n\x00\x1b[31m\u202e%s\nEOF\necho INJECTED\n"
	c := &client{app: &app{server: "o'clock"}, entry: host.Server{}}
	text, _ := c.program([]mcp.Tool{{Name: hostile, Description: hostile}, {Name: "plain", Title: hostile, InputSchema: []byte(`{"properties":{"'; echo INJECTED;'":{}}}`)}})
	cmd := exec.CommandContext(t.Context(), sh, "-c", string(text), "dock")
	cmd.Env = []string{"PATH=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, text)
	}
	for row := range strings.Lines(string(out)) {
		if strings.TrimSpace(row) == "INJECTED" || strings.ContainsAny(row, "\x1b\x00\u202e") {
			t.Errorf("the program wrote %q", row)
		}
	}
	if !strings.HasSuffix(string(text), "\nexec wharf call 'o'\\''clock' \"$@\"\n") {
		t.Errorf("its last line is not the call:\n%s", text)
	}
}
