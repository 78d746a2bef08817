package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// ErrClosed is the error of Next after Close.
var ErrClosed = errors.New("the files are no longer followed")

const (
	// settle is how long files must be left alone before a change is reported.
	settle = 200 * time.Millisecond

	// longest bounds how long a change waits while files are still being written to.
	longest = 2 * time.Second
)

// notifier is the part of [fsnotify.Watcher] that watches folders.
type notifier interface {
	Add(dir string) error
	Remove(dir string) error
	Close() error
}

// Files follows some files, such as a configuration and the plugins that it names. Its
// methods may be called from any goroutine.
type Files struct {
	notifier notifier
	ready    chan struct{} // holds a token while changed may not be empty
	ended    chan struct{} // closed when run has returned
	cancel   context.CancelFunc

	mu      sync.Mutex
	places  map[string]place    // by the path that is followed
	dirs    map[string]bool     // that the notifier watches
	changed map[string]struct{} // paths that Next has not returned yet
}

// Follow begins to follow files, and reports changes from now on. A relative path starts at
// the working folder. The caller closes the result.
func Follow(paths ...string) (*Files, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("follow files: %w", err)
	}
	f, err := start(w, w.Events, w.Errors, paths)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return f, nil
}

func start(n notifier, events <-chan fsnotify.Event, lost <-chan error, paths []string) (*Files, error) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &Files{
		notifier: n, ready: make(chan struct{}, 1), ended: make(chan struct{}), cancel: cancel,
		places: make(map[string]place), dirs: make(map[string]bool), changed: make(map[string]struct{}),
	}
	if err := f.Set(paths...); err != nil {
		cancel()
		return nil, err
	}
	go f.run(ctx, events, lost)
	return f, nil
}

// Set changes which files are followed. Files that are followed already stay so. After an
// error it follows the same files as before, except those that are not in paths.
func (f *Files) Set(paths ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	wanted := make(map[string]place)
	for _, path := range paths {
		whole, err := filepath.Abs(path)
		if err != nil {
			return fmt.Errorf("follow %s: %w", path, err)
		}
		if p, known := f.places[whole]; known {
			wanted[whole] = p
			continue
		}
		wanted[whole] = find(whole)
	}
	f.places = wanted
	maps.DeleteFunc(f.changed, func(path string, _ struct{}) bool { _, ok := wanted[path]; return !ok })
	return f.watch()
}

// watch makes the notifier watch the folders of all places, and no others. A folder that cannot
// be watched does not keep it from watching the rest. The caller holds mu.
func (f *Files) watch() error {
	wanted := make(map[string]bool)
	for _, p := range f.places {
		for name := range p.names {
			wanted[filepath.Dir(name)] = true
		}
	}
	var errs []error
	for dir := range wanted {
		// A watched folder is added again: the kernel forgets a folder that was moved or
		// removed, and its name may belong to another by now. Adding one twice does nothing.
		if err := f.notifier.Add(dir); err != nil {
			errs = append(errs, fmt.Errorf("follow %s: %w", dir, err))
			delete(wanted, dir)
		}
	}
	for dir := range f.dirs {
		if !wanted[dir] {
			f.notifier.Remove(dir) // it may be gone already
		}
	}
	f.dirs = wanted
	return errors.Join(errs...)
}

// run waits for events, and checks the files once no more have come for a moment.
func (f *Files) run(ctx context.Context, events <-chan fsnotify.Event, lost <-chan error) {
	defer close(f.ended)
	quiet := time.NewTimer(settle)
	quiet.Stop()
	var since time.Time // the first event since the last check; zero for none
	for {
		relevant := false
		select {
		case e := <-events:
			relevant = f.matters(e)
		case <-lost: // for example because of too many events: anything may have changed
			relevant = true
		case <-quiet.C:
			since = time.Time{}
			f.check()
		case <-ctx.Done():
			return
		}
		if !relevant {
			continue
		}
		if since.IsZero() {
			since = time.Now()
		}
		quiet.Reset(min(settle, longest-time.Since(since)))
	}
}

// matters reports whether an event is about a name on the way to one of the files,
// or about a folder that is watched.
func (f *Files) matters(e fsnotify.Event) bool {
	name := filepath.Clean(e.Name)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.places {
		if _, on := p.names[name]; on {
			return true
		}
	}
	return f.dirs[name]
}

// check finds the files that have changed. Their links may have changed too, so it chooses the
// folders to watch anew. Then it checks once more, since there are no events for changes before
// a folder was watched.
func (f *Files) check() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range 2 {
		for path, before := range f.places {
			now := find(path)
			if differs(before.info, now.info) {
				f.changed[path] = struct{}{}
			}
			f.places[path] = now
		}
		_ = f.watch() // a folder that cannot be watched may work the next time
	}
	if len(f.changed) > 0 {
		select {
		case f.ready <- struct{}{}:
		default: // Next has not taken the last token yet
		}
	}
}

// Next waits until files have changed, and returns their absolute paths, sorted. A file
// that appears or is removed has changed.
func (f *Files) Next(ctx context.Context) ([]string, error) {
	for {
		select {
		case <-f.ready:
		case <-f.ended:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		f.mu.Lock()
		paths := slices.Sorted(maps.Keys(f.changed))
		clear(f.changed)
		f.mu.Unlock()
		if len(paths) > 0 {
			return paths, nil
		}
	}
}

// Close stops following. A waiting Next returns [ErrClosed]. Close may be called again.
func (f *Files) Close() error {
	f.cancel()
	<-f.ended
	return f.notifier.Close()
}
