package main

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/demo"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// The file that an update has installed is watched like the one before: when it is
// not that file any more, it is said, and what runs goes on.
func TestWatchAfterAnUpdate(t *testing.T) {
	home := t.TempDir()
	socket := listenDemo(t, home)
	source := filepath.Join(home, "pigeon.wasm")
	plugin, err := os.ReadFile(filepath.Join("..", "..", "examples", "transport-socket-c", "socket.wasm"))
	if err = errors.Join(err, os.WriteFile(source, plugin, 0o600)); err != nil {
		t.Fatal(err)
	}
	at := func(c *exec.Cmd) {
		c.Env = append(c.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "XDG_DATA_HOME="+filepath.Join(home, "data"))
	}
	run := func(args ...string) {
		t.Helper()
		c := exec.Command("wharf", args...)
		at(c)
		if said, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, said)
		}
	}
	run("plugin", "add", source, "--yes", "--sha256", hashOf(plugin), "--name", "pigeon")

	f := &followed{path: filepath.Join(home, "wharf.toml")}
	f.write(t, "[servers.loft]\ntransport = \"pigeon\"\naddress = \"unix:"+socket+"\"\n")
	f.process = start(t, func(c *exec.Cmd) (io.ReadCloser, error) {
		at(c)
		out, err := c.StdoutPipe()
		c.Stderr = c.Stdout
		return out, err
	}, "wharf", "servers", "--watch", "--config", f.path)
	connected := func(c change) bool { return c.Name == "loft" && c.State == "connected" }
	f.until(t, connected)

	another := slices.Concat(plugin, []byte{0, 2, 1, 'x'})
	if err := os.WriteFile(source, another, 0o600); err != nil {
		t.Fatal(err)
	}
	run("plugin", "update", "pigeon", "--yes", "--sha256", hashOf(another))
	f.until(t, func(c change) bool { return c.Name == "loft" && c.State != "connected" })
	f.until(t, connected)
	installed := filepath.Join(home, "data", "wharf", "plugins", hashOf(another)+".wasm")
	if err := os.WriteFile(installed, plugin, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := f.await("its file was replaced"); !strings.Contains(said, "has sha256") {
		t.Error(said)
	}
	f.interrupt()
	f.wantExit(exit.CodeInterrupted)
}

// listenDemo serves the demo server on a socket in a folder, to each connection one.
func listenDemo(t *testing.T, dir string) (socket string) {
	t.Helper()
	socket = filepath.Join(dir, "loft.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip(err) // a path that is too long for a socket
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			server := exec.CommandContext(t.Context(), "wharf", demo.Command)
			server.Stdin, server.Stdout = c, c
			go func() {
				defer c.Close()
				_ = server.Run() // until the connection ends
			}()
		}
	}()
	return socket
}
