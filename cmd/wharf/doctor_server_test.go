package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/trace"
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

// A sign-in that fails before any message came is one to what carries the messages.
func TestDoctorOfASignIn(t *testing.T) {
	for _, tt := range []struct {
		server  host.Server
		records []trace.Record
		want    string
	}{
		{host.Server{Command: "ssh"}, []trace.Record{{Kind: trace.Opened}}, stepCommand},
		{host.Server{Address: "tls:nats.example:4222"}, []trace.Record{{Kind: trace.Opened}}, stepReach},
		{host.Server{Command: "ssh"}, []trace.Record{{Kind: trace.Opened}, {Kind: trace.Response, Direction: trace.Received}}, stepHandshake},
		{host.Server{URL: "https://mcp.example.com"}, []trace.Record{{Kind: trace.Opened}}, stepSignIn},
	} {
		d := diagnosis{server: tt.server, records: tt.records, err: host.ErrAuthRequired}
		if got := d.failed(); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.server, got, tt.want)
		}
	}
}

// A file that is larger than a plugin may be is a problem, and is not read whole.
func TestPluginProblem(t *testing.T) {
	file := filepath.Join(t.TempDir(), "big.wasm")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 1<<30); err != nil {
		t.Fatal(err)
	}
	if said := pluginProblem(config.Plugin{Name: "big", File: file}); !strings.Contains(said, "larger than") {
		t.Error(said)
	}
}

// A script that an interpreter is to run, and that is not there, is a problem; of other
// arguments nothing is said.
func TestMissingScript(t *testing.T) {
	dir, here := t.TempDir(), t.TempDir()
	t.Chdir(here)
	if err := os.WriteFile("here.js", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "server.js")
	for _, tt := range []struct {
		command, arg, dir string
		says              string // "" is no problem
	}{
		{"node", script, "", script},
		{"/usr/bin/node", script, "", script},
		{"node", "server.js", "", "there is no server.js in the folder that wharf was started in"},
		{"node", "server.js", dir, script},
		{"node", "here.js", "", ""},
		{"node", "here.js", here, ""},
		{"node", "server", "", ""},
		{"touch", script, "", ""},
		{"node", "--watch=" + script, "", ""},
	} {
		said := missingFile(host.Server{Command: tt.command, Args: []string{tt.arg, script}, Dir: tt.dir})
		if !strings.Contains(said, tt.says) || (said == "") != (tt.says == "") || said != "" && !strings.HasPrefix(said, "args[0]: ") {
			t.Errorf("%s %s: %q", tt.command, tt.arg, said)
		}
	}
}
