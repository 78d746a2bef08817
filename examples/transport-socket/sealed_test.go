//go:build !wasip1

package main

import (
	"io"
	"net"
	"path/filepath"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
)

// pass is what a guarded server wants to hear first.
const pass = "let me in\n"

// guarded is a listener whose connections have to begin with pass.
type guarded struct {
	net.Listener
	began chan string
}

func (g guarded) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		word := make([]byte, len(pass))
		io.ReadFull(conn, word)
		if g.began <- string(word); string(word) == pass {
			return conn, nil
		}
		conn.Close()
	}
}

// What a provider gives for the stream is the first thing in it, once, and the
// plugin has seen nothing of it.
func TestSealed(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host.Host) {
		at := filepath.Join(t.TempDir(), "loft.sock")
		l := guarded{listen(t, "unix", at), make(chan string, 8)}
		serve(t, l, nil)
		s := connect(t, h, host.Server{
			Address: "unix:" + at,
			Auth:    config.Auth{Provider: "sealer", Blob: true, Settings: map[string]any{"blob": pass}},
		})
		say(t, s, "hello")
		if got := <-l.began; got != pass {
			t.Errorf("the stream began with %q", got)
		}
	})
}
