package host

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// edition is a plugin that is loaded once, by whoever needs it first, and again when
// its file is another. A load that went wrong is tried again by the next.
type edition[P any] struct {
	loading turn  // held while it is seen whether the file is another, and that is loaded
	from    stamp // of the newest file that was looked at; for the holder of loading

	mu     sync.Mutex
	plugin *P
}

// loaded returns what was loaded last, or nil.
func (e *edition[P]) loaded() *P {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.plugin
}

func (e *edition[P]) put(p *P) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.plugin = p
}

// stamp tells the versions of a file apart without reading it.
type stamp struct {
	size    int64
	changed time.Time
	file    fs.FileInfo // nil for none; for os.SameFile
}

// stampOf returns the stamp of a file; one that cannot be looked at has the zero
// stamp.
func stampOf(path string) stamp {
	at, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{at.Size(), at.ModTime(), at}
}

func (s stamp) same(other stamp) bool {
	if s.file == nil || other.file == nil {
		return s.file == nil && other.file == nil
	}
	return s.size == other.size && s.changed.Equal(other.changed) && os.SameFile(s.file, other.file)
}

// newest returns a plugin as it is now: the edition that is among those of the host,
// or, where its file was replaced since, another. Where the new file is no good, that
// is said once, and it is the old one for everybody.
func newest[P any](ctx context.Context, h *Host, among map[string]*edition[P], name string, load func(context.Context, string) (*P, error)) (*P, error) {
	e, err := editionOf(h, among, name)
	if err != nil {
		return nil, err
	}
	if err := e.loading.take(ctx); err != nil {
		return nil, fmt.Errorf("load plugin %s: %w", name, err)
	}
	defer e.loading.give()
	before := e.loaded()
	now := stampOf(h.files()[name].File) // before it is read: a change in between is seen next time
	if before != nil && (now.same(e.from) || now.file == nil) {
		return before, nil
	}
	p, err := load(ctx, name)
	switch {
	case err == nil:
		e.put(p)
		e.from = now
		return p, nil
	case before != nil && ctx.Err() == nil:
		h.warn("", fmt.Sprintf("plugin %s: its file was replaced, and the new one is not used: %v", name, err))
		e.from = now
		return before, nil
	}
	return nil, err
}

func editionOf[P any](h *Host, among map[string]*edition[P], name string) (*edition[P], error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	e := among[name]
	if e == nil {
		e = &edition[P]{}
		among[name] = e
	}
	return e, nil
}
