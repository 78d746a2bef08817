package main

import (
	"context"
	"os"
	"reflect"
	"slices"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
)

// lookout notices that the configuration may be another: its file changed, or that
// of a plugin, or there was a SIGHUP. That is the signal for programs that have no
// terminal: to one that has it says that the terminal is gone, and ends it as it
// ends every other command.
type lookout struct {
	hangup chan struct{}
	ignore func()      // leaves a SIGHUP to the program again
	files  *host.Files // nil: they cannot be followed
	app    *app
}

// lookOut begins to notice. The caller has it run, which also ends it.
func (a *app) lookOut() *lookout {
	l := &lookout{app: a, hangup: make(chan struct{}, 1), ignore: func() {}}
	a.lookout = l
	seen := "are not seen"
	if a.interrupt != nil && !a.Attended() {
		l.ignore = a.interrupt.OnHangup(l.hungUp)
		seen = "are seen on SIGHUP only"
	}
	var err error
	if l.files, err = host.FollowFiles(a.settings.files()...); err != nil {
		l.files = nil
		a.Warn("changes of the configuration %s: %v", seen, err)
	}
	return l
}

// follow has the files noticed that the settings refer to now: an update of a plugin
// is another file.
func (l *lookout) follow(s *settings) {
	if l == nil || l.files == nil {
		return
	}
	if err := l.files.Set(s.files()...); err != nil {
		l.app.Warn("changes of the configuration are not all seen: %v", err)
	}
}

func (l *lookout) hungUp() {
	select {
	case l.hangup <- struct{}{}:
	default: // there is one already
	}
}

// run calls changed for each time, until ctx ends.
func (l *lookout) run(ctx context.Context, changed func()) {
	defer l.ignore()
	moved := make(chan struct{})
	if l.files != nil {
		told := make(chan struct{})
		defer func() { l.files.Close(); <-told }()
		go func() {
			defer close(told)
			l.pass(ctx, moved)
		}()
	}
	for {
		select {
		case <-l.hangup:
		case <-moved:
		case <-ctx.Done():
			return
		}
		changed()
	}
}

// pass says that files have changed to whoever reads moved.
func (l *lookout) pass(ctx context.Context, moved chan<- struct{}) {
	for {
		if _, err := l.files.Next(ctx); err != nil {
			return
		}
		select {
		case moved <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

// files are what the settings were read from and refer to.
func (s *settings) files() []string {
	var paths []string
	if path, err := config.UserPath(); s.path != "" {
		paths = append(paths, s.path)
	} else if err == nil {
		paths = append(paths, path) // it may appear
	}
	if s.lock != "" {
		paths = append(paths, s.lock)
	}
	for _, p := range s.plugins {
		if p.File != "" {
			paths = append(paths, p.File)
		}
	}
	slices.Sort(paths)
	return paths
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
	a.lookout.follow(s)
	a.warnOf(s)
	return s, true
}

// keepFresh gives the session of a configured server another entry when the
// configuration has one. The caller calls stop at the end.
func (l *link) keepFresh(ctx context.Context) (stop func()) {
	s := l.app.settings
	if s == nil || !reflect.DeepEqual(l.configured(s), &l.entry) {
		return func() {} // the server was given on the spot
	}
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	out := l.app.lookOut()
	go func() {
		defer close(stopped)
		out.run(ctx, l.refresh)
	}()
	return func() {
		cancel()
		<-stopped
	}
}

// configured returns the entry that the settings have for the session, or nil.
func (l *link) configured(s *settings) *host.Server {
	entry, found := s.find(l.entry.Name)
	if !found || entry.Disabled {
		return nil
	}
	entry, err := entry.Expand(os.LookupEnv)
	if err != nil {
		return nil
	}
	entry = l.app.flags.hurry(entry)
	return &entry
}

// refresh reloads the session if the configuration has another entry for it now.
// One that it has no more, or that cannot be used, is not taken from whoever uses
// it.
func (l *link) refresh() {
	s, ok := l.app.reload()
	if !ok {
		return
	}
	entry := l.configured(s)
	switch {
	case entry == nil:
		l.app.Warn("%s goes on as before: the configuration has no such server now", plain.Line(l.entry.Name))
	case !reflect.DeepEqual(*entry, l.entry):
		if err := l.session.Reload(*entry); err == nil { // else it was closed
			l.entry = *entry
		}
	}
}
