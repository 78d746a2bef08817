package main

import (
	"context"
	"os"
	"reflect"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/watch"
)

// watchConfig begins to watch the configuration. The caller must call run, which also ends
// the watching.
func (a *app) watchConfig() *configWatcher {
	w := &configWatcher{due: make(chan struct{}, 1), ignore: func() {}, warn: a.Warn}
	a.watcher = w
	seen := "are not seen"
	if a.interrupt != nil && !a.Attended() {
		w.ignore = a.interrupt.OnHangup(w.again)
		seen = "are seen on SIGHUP only"
	}
	var err error
	if w.files, err = watch.Follow(a.settings.files()...); err != nil {
		w.files = nil
		a.Warn("changes of the configuration %s: %v", seen, err)
	}
	return w
}

// followConfig reloads the session of a configured server whenever the configuration has another
// entry for it, until stop is called.
func (c *client) followConfig(ctx context.Context) (stop func()) {
	s := c.app.settings
	if s == nil || !reflect.DeepEqual(c.configured(s), &c.entry) {
		return func() {} // the server was given on the spot
	}
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	watcher := c.app.watchConfig()
	go func() {
		defer close(stopped)
		watcher.run(ctx, c.refresh)
	}()
	return func() {
		cancel()
		<-stopped
	}
}

// configured returns the entry that the settings have for the session, or nil.
func (c *client) configured(s *settings) *host.Server {
	entry, found := s.find(c.entry.Name)
	if !found || entry.Disabled {
		return nil
	}
	if _, err := entry.Expand(os.LookupEnv); err != nil {
		return nil
	}
	entry = c.app.flags.withTimeout(entry)
	return &entry
}

// refresh reloads the session if the configuration now has another entry for it. If the entry is
// gone or cannot be used, the session goes on as before. Each new connection uses the current
// entry and plugins in any case.
func (c *client) refresh() {
	s, ok := c.app.reload()
	if !ok {
		return
	}
	if err := c.host.Apply(nil, s.plugins, s.reconnect); err != nil {
		c.app.Warn("[reconnect] and the plugins are as before: %v", err)
	}
	entry := c.configured(s)
	switch {
	case entry == nil:
		c.app.Warn("%s goes on as before: the configuration has no such server now", plain.Line(c.entry.Name))
	case !reflect.DeepEqual(*entry, c.entry):
		if err := c.session.Reload(*entry); err == nil { // else it was closed
			c.entry = *entry
		}
	}
}
