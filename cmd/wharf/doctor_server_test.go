package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
)

// TestDoctorKeepsTheBeginning writes more lines than a doctor keeps of a trace: the first
// ones stay, and each is whole.
func TestDoctorKeepsTheBeginning(t *testing.T) {
	var log traceLog
	line := append(bytes.Repeat([]byte("x"), 60_000), '\n')
	for range 200 {
		if n, err := log.Write(line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	if n := log.Len(); n > 4<<20 || n < 3<<20 || n%len(line) != 0 {
		t.Errorf("%d bytes are kept", n)
	}
	log.Write([]byte("{}\n"))
	if bytes.HasSuffix(log.Bytes(), []byte("{}\n")) {
		t.Error("a line behind those that were dropped is kept")
	}
}

// A script that an interpreter is to run, and that is not there, is a problem; of other
// arguments nothing is said.
func TestMissingScript(t *testing.T) {
	script := filepath.Join(t.TempDir(), "server.js")
	for _, tt := range []struct {
		command, arg string
		missing      bool
	}{{"node", script, true}, {"/usr/bin/node", script, true}, {"node", "server.js", false}, {"touch", script, false}, {"node", "--watch=" + script, false}} {
		said := missingFile(host.Server{Command: tt.command, Args: []string{tt.arg, script}})
		if missing := strings.HasPrefix(said, "args[0]: ") && strings.Contains(said, script); missing != tt.missing || !missing && said != "" {
			t.Errorf("%s %s: %q", tt.command, tt.arg, said)
		}
	}
}
