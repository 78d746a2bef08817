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

// ErrClosed is what Next returns after Close.
var ErrClosed = errors.New("the files are no longer followed")

const (
	// Settle is how long files must be left alone before a change is reported.
	settle = 200 * time.Millisecond

	// Patience is how long a file that is never left alone is waited for.
	patience = 2 * time.Second
)

// notifier is the part of [fsnotify.Watcher] that watches folders.
type notifier interface {
	Add(dir string) error
	Remove(dir string) error
	Close() error
}

// Files follows some files. All methods may be called from any goroutine.
type Files struct {
	kernel notifier
	ready  chan struct{} // holds a token while there may be news
	ended  chan struct{} // closed when run has returned
	cancel context.CancelFunc

	mu     sync.Mutex
	places map[string]place    // by the path that is followed
	dirs   map[string]bool     // that the kernel watches
	news   map[string]struct{} // paths that Next has not returned yet
}

// Follow begins to follow files. Changes count from now on. A path that is not
// absolute is one from the working folder. The caller closes what is returned.
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

func start(kernel notifier, events <-chan fsnotify.Event, lost <-chan error, paths []string) (*Files, error) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &Files{
		kernel: kernel, ready: make(chan struct{}, 1), ended: make(chan struct{}), cancel: cancel,
		places: make(map[string]place), dirs: make(map[string]bool), news: make(map[string]struct{}),
	}
	if err := f.Set(paths...); err != nil {
		cancel()
		return nil, err
	}
	go f.run(ctx, events, lost)
	return f, nil
}

// Set changes which files are followed. Those that already were go on as before.
// On an error the files are as before, less those that are no longer wanted.
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
	maps.DeleteFunc(f.news, func(path string, _ struct{}) bool { _, ok := wanted[path]; return !ok })
	return f.watch()
}

// watch has the kernel watch the folders that matter now and no others. One that
// cannot be watched does not keep the others from it. The caller holds mu.
func (f *Files) watch() error {
	wanted := make(map[string]bool)
	for _, p := range f.places {
		for name := range p.names {
			wanted[filepath.Dir(name)] = true
		}
	}
	var errs []error
	for dir := range wanted {
		// Always: the kernel forgets a folder that was moved or removed, and the
		// name may belong to another by now. To it, a second time is none.
		if err := f.kernel.Add(dir); err != nil {
			errs = append(errs, fmt.Errorf("follow %s: %w", dir, err))
			delete(wanted, dir)
		}
	}
	for dir := range f.dirs {
		if !wanted[dir] {
			f.kernel.Remove(dir) // it may be gone already
		}
	}
	f.dirs = wanted
	return errors.Join(errs...)
}

// run hears the kernel and looks at the files once it is quiet again.
func (f *Files) run(ctx context.Context, events <-chan fsnotify.Event, lost <-chan error) {
	defer close(f.ended)
	quiet := time.NewTimer(settle)
	quiet.Stop()
	var since time.Time // of the first event that waits; zero = none
	for {
		stirred := false
		select {
		case e := <-events:
			stirred = f.matters(e)
		case <-lost: // events, for one: anything may have changed
			stirred = true
		case <-quiet.C:
			since = time.Time{}
			f.look()
		case <-ctx.Done():
			return
		}
		if !stirred {
			continue
		}
		if since.IsZero() {
			since = time.Now()
		}
		quiet.Reset(min(settle, patience-time.Since(since)))
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

// look finds out which files are others than before. The ways to them may be other
// ones too, so the folders are chosen anew, and then looked at once more: what
// changed before the kernel watched them it does not tell of.
func (f *Files) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range 2 {
		for path, before := range f.places {
			now := find(path)
			if changed(before.info, now.info) {
				f.news[path] = struct{}{}
			}
			f.places[path] = now
		}
		f.watch() // what cannot be watched now can perhaps be later
	}
	if len(f.news) > 0 {
		f.wake()
	}
}

func (f *Files) wake() {
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

// Next waits until files have changed, and returns their paths, sorted. A file that
// appears or goes away has changed.
func (f *Files) Next(ctx context.Context) ([]string, error) {
	for {
		select {
		case <-f.ready:
		case <-f.ended:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if paths := f.take(); len(paths) > 0 {
			return paths, nil
		}
	}
}

func (f *Files) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	paths := slices.Sorted(maps.Keys(f.news))
	clear(f.news)
	return paths
}

// Close ends it. A Next that waits returns. It may be called more than once.
func (f *Files) Close() error {
	f.cancel()
	<-f.ended
	return f.kernel.Close()
}
