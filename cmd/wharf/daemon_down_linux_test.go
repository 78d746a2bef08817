package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A folder of sockets that others could reach is refused, and a command and a bridge do without the daemon.
func TestDaemonInAnOpenFolder(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	socket := strings.TrimSpace(u.must("control", "--socket"))
	if err := os.Chmod(filepath.Dir(socket), 0o770); err != nil {
		t.Fatal(err)
	}
	if out, err := u.run("control", "--socket"); err == nil || !strings.Contains(err.Error(), "run chmod 700") {
		t.Error(out, err)
	}
	u.must("call", "ledger", "note", "text=x")
	b := u.bridge("note", "bridge", "--shared", "ledger")
	b.call("of its own", false)
	if line := b.answer(); !strings.Contains(line, `"text":"of its own"`) {
		t.Error(line)
	}
	if err := os.Chmod(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	u.must("call", "ledger", "note", "text=x")
	if n := u.starts(); n != 3 {
		t.Errorf("%d starts", n)
	}
}

// A daemon that hangs costs a command and a bridge a wait and a warning: each starts the server itself.
func TestDaemonThatHangs(t *testing.T) {
	t.Parallel()
	if joinWait != 5*time.Second {
		t.Errorf("a command waits %v", joinWait)
	}
	u := newUser(t)
	u.must("control", "--socket")
	u.stopped(func() {
		var all sync.WaitGroup
		defer all.Wait()
		for want, args := range map[string][]string{
			"warning: the daemon does not answer, so this command starts the server itself\n": {"call", "ledger", "note", "text=x"},
			"warning: the servers of the daemon are not used: the daemon at ":                 {"bridge", "--shared", "ledger"},
		} {
			all.Go(func() {
				cmd := u.command(args...)
				cmd.Stdin = strings.NewReader(greeting("note"))
				if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte(want)) || !bytes.Contains(out, []byte(`"content":[`)) {
					t.Errorf("%s: %s, %v; want %s", args[0], out, err, want)
				}
			})
		}
		for _, flag := range []string{"--socket", "--shared"} { // an editor has no servers but those of the daemon
			all.Go(func() {
				out, err := u.command("control", flag).CombinedOutput()
				if err == nil || !bytes.Contains(out, []byte("does not answer; `wharf daemon status` says which process it is")) {
					t.Errorf("%s: %s, %v", flag, out, err)
				}
			})
		}
	})
	if n := u.starts(); n != 2 {
		t.Errorf("%d starts", n)
	}
}

// An editor hears why the daemon that it needs did not start, and a bridge does without it.
func TestDaemonThatDoesNotStart(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	socket := strings.TrimSpace(u.must("control", "--socket"))
	u.must("daemon", "stop")
	if err := os.MkdirAll(socket, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--socket", "--shared"} {
		if out, err := u.run("control", flag); err == nil || !strings.Contains(err.Error(), "the daemon did not start: error: "+socket+" is no socket") {
			t.Error(flag, out, err)
		}
	}
	bridge := u.command("bridge", "--shared", "ledger")
	bridge.Stdin = strings.NewReader(greeting("note"))
	const warned = "warning: the servers of the daemon are not used: the daemon did not start: "
	if out, err := bridge.CombinedOutput(); err != nil || !bytes.Contains(out, []byte(warned)) || !bytes.Contains(out, []byte(`"content":[`)) {
		t.Errorf("%s, %v", out, err)
	}
}
