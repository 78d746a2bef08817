package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

const goodServer = "[servers.good]\ncommand = \"wharf\"\nargs = [\"demo-server\"]\n"

// followed is a command that goes on, with a configuration that the test writes.
type followed struct {
	*process
	path string
}

func follow(t *testing.T, text string, args ...string) *followed {
	t.Helper()
	f := &followed{path: filepath.Join(t.TempDir(), "wharf.toml")}
	f.write(t, text)
	both := func(c *exec.Cmd) (io.ReadCloser, error) {
		out, err := c.StdoutPipe()
		c.Stderr = c.Stdout
		return out, err
	}
	f.process = start(t, both, "wharf", append(args, "--config", f.path)...)
	return f
}

// write puts a configuration in the place of the one that is there, all at once.
func (f *followed) write(t *testing.T, text string) {
	t.Helper()
	err := os.WriteFile(f.path+".new", []byte(text), 0o600)
	if err = errors.Join(err, os.Rename(f.path+".new", f.path)); err != nil {
		t.Fatal(err)
	}
}

// change is a line of `wharf servers --watch`.
type change struct {
	Name, State string
	Tools       int
	Gone        bool
}

// until reads changes until one fits.
func (f *followed) until(t *testing.T, fits func(change) bool) {
	t.Helper()
	for f.lines.Scan() {
		var c change
		if err := json.Unmarshal(f.lines.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", f.lines.Text(), err)
		}
		if fits(c) {
			return
		}
	}
	t.Fatal("the output ended without it")
}

// One server that never answers delays no other; and a configuration that changes
// is followed server by server.
func TestFollowServers(t *testing.T) {
	t.Parallel()
	f := follow(t, goodServer+"[servers.silent]\ncommand = \"server-silent\"\n", "servers", "--watch")
	f.until(t, func(c change) bool { return c.Name == "good" && c.State == "connected" && c.Tools == 5 })
	f.write(t, "[servers.other]\ncommand = \"wharf\"\nargs = [\"demo-server\"]\n")
	gone := make(map[string]bool)
	f.until(t, func(c change) bool {
		gone[c.Name] = c.Gone && c.State == "disconnected"
		return c.Name == "other" && c.State == "connected"
	})
	if !gone["good"] || !gone["silent"] || gone["demo"] {
		t.Errorf("gone: %v", gone)
	}
	f.interrupt()
	f.wantExit(exit.CodeInterrupted)
}

// What cannot be read changes nothing. A signal has it read again.
func TestFollowBadConfiguration(t *testing.T) {
	t.Parallel()
	f := follow(t, goodServer, "servers", "--watch")
	f.await(`"state":"connected"`)
	f.write(t, goodServer+"[servers.bad\n")
	f.await("warning: not reloaded: configuration: ")
	f.signal(syscall.SIGHUP)
	f.await("warning: not reloaded: configuration: ")
	f.write(t, goodServer+"env = { A = \"${NO_SUCH_VARIABLE}\" }\n")
	f.await("note: the configuration is reloaded")
	f.await("warning: good goes on as before: ")
	f.write(t, goodServer+strings.Replace(goodServer, "good", "better", 1))
	for line := ""; !strings.HasPrefix(line, `{"name":"better"`) || !strings.Contains(line, `"state":"connected"`); {
		if line = f.await(""); strings.Contains(line, "reconnecting") {
			t.Errorf("another server was connected anew: %s", line)
		}
	}
	f.interrupt()
	f.wantExit(exit.CodeInterrupted)
}

// A session that is being watched gets its new entry, and tells of what it missed.
func TestWatchFollowsItsEntry(t *testing.T) {
	t.Parallel()
	f := follow(t, goodServer, "watch", "good", "demo://clock")
	f.await(`"uri":"demo://clock"`)
	f.write(t, goodServer+"env = { A = \"1\" }\n")
	f.await(`"kind":"missed"`)
	f.await(`"uri":"demo://clock"`)
	f.write(t, "")
	f.await("warning: good goes on as before: the configuration has no such server now")
	f.await(`"uri":"demo://clock"`)
	f.interrupt()
	f.wantExit(exit.CodeInterrupted)
}
