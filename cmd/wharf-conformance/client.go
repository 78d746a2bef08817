package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/plugins"
)

// client is a host with one session, for one scenario.
type client struct {
	job     job
	vault   string // a folder of its own, so that no scenario has the logins of another
	log     *log
	host    *host.Host
	session *host.Session
}

// connect opens the session. The caller closes it.
func connect(ctx context.Context, j job, out io.Writer) (*client, error) {
	c := &client{job: j, log: &log{out: out}}
	var err error
	if c.vault, err = os.MkdirTemp("", "wharf-conformance"); err != nil {
		return nil, err
	}
	h, err := host.New(ctx, c.config())
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.vault))
	}
	s, err := h.Connect(ctx, host.Server{Name: "suite", URL: j.url, Protocol: j.protocol(), Auth: j.auth()})
	if err != nil {
		return nil, errors.Join(err, h.Close(), os.RemoveAll(c.vault))
	}
	c.host, c.session = h, s
	info := s.Info()
	c.log.printf("connected to %s by %s, revision %s", info.Server.Name, info.Transport, info.Protocol)
	return c, nil
}

// config returns a configuration that offers servers all that a client can offer, so that the
// suite sees each of these capabilities declared.
func (c *client) config() host.Config {
	cache, _ := host.DefaultCacheDir() // without one the plugin is compiled each time
	return host.Config{
		Plugins:  plugins.Builtin(),
		CacheDir: cache,
		VaultDir: c.vault,
		Person:   &signin.Person{OpenURL: visit},
		Timeout:  10 * time.Second,
		OneShot:  true,
		Event:    func(e host.Event) { c.log.printf("heard %s", cmp.Or(e.Warning, e.Method)) },
		Client: host.Client{
			Info: mcp.Implementation{Name: "wharf-conformance", Version: "0.1.0"},
			Elicit: func(_ context.Context, _ string, e mcp.Elicitation) (mcp.ElicitResult, error) {
				return answer(e)
			},
			Sample: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`{"role":"assistant","model":"none","content":{"type":"text","text":"yes"}}`), nil
			},
			Roots: func(context.Context, string) ([]mcp.Root, error) { return nil, nil },
		},
	}
}

// call sends a request, and decodes the result unless result is nil.
func (c *client) call(ctx context.Context, method string, params, result any) error {
	if err := c.session.Call(ctx, method, params, result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	c.log.printf("%s ok", method)
	return nil
}

// callTool calls a tool, which must exist and succeed.
func (c *client) callTool(ctx context.Context, name string, args any) error {
	result, err := c.session.CallTool(ctx, name, args)
	switch {
	case err != nil:
		return fmt.Errorf("tool %s: %w", name, err)
	case result.IsError:
		text, _ := json.Marshal(result.Content)
		return fmt.Errorf("tool %s: failed with %s", name, text)
	}
	c.log.printf("tool %s ok", name)
	return nil
}

// close ends the session, and with it the server's state of the session.
func (c *client) close() {
	c.session.Close()
	c.host.Close()
	os.RemoveAll(c.vault)
}

// log is a writer of lines for any goroutine.
type log struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *log) printf(format string, a ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, format+"\n", a...)
}
