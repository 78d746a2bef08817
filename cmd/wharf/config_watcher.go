package main

import (
	"context"

	"github.com/wharf-mcp/wharf/host/watch"
)

// configWatcher watches the configuration file and the plugin files. A SIGHUP counts as a change
// if the program has no terminal. For a program with a terminal, SIGHUP means that the terminal
// is gone, and ends the program.
type configWatcher struct {
	due    chan struct{} // a token is a change that is not of the files
	ignore func()        // ends the handling of SIGHUP as a change
	files  *watch.Files  // nil: they cannot be followed
	warn   func(format string, args ...any)
	unread bool // the settings are older than the files, which cannot be read; of the goroutine that reloads
}

// follow makes the watcher follow the files that the settings refer to now, and more. After an update of a
// plugin, that is another file.
func (w *configWatcher) follow(s *settings, more ...string) {
	if w == nil || w.files == nil {
		return
	}
	if err := w.files.Set(append(s.files(), more...)...); err != nil {
		w.warn("changes of the configuration are not all seen: %v", err)
	}
}

// again has run count a change, such as a SIGHUP.
func (w *configWatcher) again() {
	if w == nil {
		return
	}
	select {
	case w.due <- struct{}{}:
	default: // there is one already
	}
}

// run calls changed for each change, until ctx ends. It then closes the watcher.
func (w *configWatcher) run(ctx context.Context, changed func()) {
	defer w.ignore()
	fileChanged := make(chan struct{})
	if w.files != nil {
		done := make(chan struct{})
		defer func() { w.files.Close(); <-done }()
		go func() {
			defer close(done)
			for {
				if _, err := w.files.Next(ctx); err != nil {
					return
				}
				select {
				case fileChanged <- struct{}{}:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	for {
		select {
		case <-w.due:
		case <-fileChanged:
		case <-ctx.Done():
			return
		}
		changed()
	}
}
