package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/status"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// runStatus connects all servers at once and shows their states. It asks no question: a
// server that needs a sign-in or an approval is shown as such. With follow it goes on
// until it is interrupted.
func (a *app) runStatus(ctx context.Context, follow bool) error {
	s, err := a.load()
	if err != nil {
		return err
	}
	a.OneLine, a.endless = a.OneLine || follow, follow
	if follow {
		var end func()
		ctx, end = a.UntilUnread(ctx)
		defer end()
	}
	h, err := a.newHost(ctx, nil, a.unattended, func(c *host.Config) {
		if follow {
			c.Ping = time.Minute
		}
	})
	if err != nil {
		return err
	}
	defer h.Close()
	shown := func(s *settings) status.Config {
		defer a.warnOf(s)
		c := status.Config{Servers: s.shown(), Plugins: s.plugins, Reconnect: s.reconnect}
		if !follow {
			c.Reconnect.Backoff = []time.Duration{} // see unattended
		}
		return c
	}
	v := status.View{Terminal: a.Terminal, Host: h, People: a.forPeople(), Markdown: a.flags.output == formatMarkdown, Complete: a.withConfig}
	c := shown(s)
	if follow {
		v.Watch = func() func(context.Context, func()) { return a.watchConfig().run }
		v.Reload = func() (status.Config, bool) {
			s, ok := a.reload()
			if !ok {
				return status.Config{}, false
			}
			return shown(s), true
		}
	}
	return v.Run(ctx, c)
}

// unattended makes a host ask no question, and take the first failure of a server as final.
func (a *app) unattended(c *host.Config) {
	if a.CanAsk() {
		c.Approve = nil
		// Some servers keep the tools back that need a person or a model. Declared as by a
		// command that asks, these servers list the same tools here as there.
		c.Client.Elicit = func(context.Context, string, mcp.Elicitation) (mcp.ElicitResult, error) {
			return mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
		}
		c.Client.Sample = func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return nil, errors.New("a command that lists servers asks no model")
		}
	}
	if limit := a.flags.timeout; limit.given {
		c.StartTimeout = limit.limit
	}
	c.Reconnect.Backoff = []time.Duration{}
}
