package main

import (
	"context"
	"os"
	"reflect"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
)

// lookout notices that the configuration may be another: its file changed, or that
// of a plugin, or there was a SIGHUP. That is the signal for programs that have no
// terminal: to one that has it says that the terminal is gone, and ends it as it
// ends every other command.
type configWatcher struct {
	hangup chan struct{}
	ignore func()      // leaves a SIGHUP to the program again
	files  *host.Files // nil: they cannot be followed
	app    *app
}

// lookOut begins to notice. The caller has it run, which also ends it.
func (a *app) watchConfig() *configWatcher {
	w := &configWatcher{app: a, hangup: make(chan struct{}, 1), ignore: func() {}}
	a.watcher = w
	seen := "are not seen"
	if a.interrupt != nil && !a.Attended() {
		w.ignore = a.interrupt.OnHangup(w.onHangup)
		seen = "are seen on SIGHUP only"
	}
	var err error
	if w.files, err = host.FollowFiles(a.settings.files()...); err != nil {
		w.files = nil
		a.Warn("changes of the configuration %s: %v", seen, err)
	}
	return w
}

// follow has the files noticed that the settings refer to now: an update of a plugin
// is another file.
func (w *configWatcher) follow(s *settings) {
	if w == nil || w.files == nil {
		return
	}
	if err := w.files.Set(s.files()...); err != nil {
		w.app.Warn("changes of the configuration are not all seen: %v", err)
	}
}

func (w *configWatcher) onHangup() {
	select {
	case w.hangup <- struct{}{}:
	default: // there is one already
	}
}

// run calls changed for each time, until ctx ends.
func (w *configWatcher) run(ctx context.Context, changed func()) {
	defer w.ignore()
	moved := make(chan struct{})
	if w.files != nil {
		told := make(chan struct{})
		defer func() { w.files.Close(); <-told }()
		go func() {
			defer close(told)
			w.pass(ctx, moved)
		}()
	}
	for {
		select {
		case <-w.hangup:
		case <-moved:
		case <-ctx.Done():
			return
		}
		changed()
	}
}

// pass says that files have changed to whoever reads moved.
func (w *configWatcher) pass(ctx context.Context, moved chan<- struct{}) {
	for {
		if _, err := w.files.Next(ctx); err != nil {
			return
		}
		select {
		case moved <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

// reload reads the configuration again. One that cannot be read changes nothing:
// the person is told why, and what there was goes on.
func (a *app) reload() (*settings, bool) {
	before := a.settings
	a.settings = nil
	s, err := a.load()
	if err != nil {
		a.settings = before
		a.Warn("not reloaded: %v", err)
		return nil, false
	}
	a.watcher.follow(s)
	a.warnOf(s)
	return s, true
}

// keepFresh gives the session of a configured server another entry when the
// configuration has one. The caller calls stop at the end.
func (c *client) keepFresh(ctx context.Context) (stop func()) {
	s := c.app.settings
	if s == nil || !reflect.DeepEqual(c.configured(s), &c.entry) {
		return func() {} // the server was given on the spot
	}
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	out := c.app.watchConfig()
	go func() {
		defer close(stopped)
		out.run(ctx, c.refresh)
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
	entry, err := entry.Expand(os.LookupEnv)
	if err != nil {
		return nil
	}
	entry = c.app.flags.withTimeout(entry)
	return &entry
}

// refresh reloads the session if the configuration has another entry for it now.
// One that it has no more, or that cannot be used, is not taken from whoever uses
// it.
func (c *client) refresh() {
	s, ok := c.app.reload()
	if !ok {
		return
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
