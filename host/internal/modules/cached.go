package modules

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
)

// cachedModule loads a plugin on first use, and again when its file on disk has changed.
// A load that failed is tried again on the next use.
type cachedModule[P any] struct {
	loading ctxmutex.Mutex // held while the file is looked at, and perhaps loaded
	loaded  fileVersion    // the newest that was looked at; guarded by loading

	mu     sync.Mutex
	plugin *P
}

// current returns the plugin that was loaded last, or nil.
func (c *cachedModule[P]) current() *P {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.plugin
}

// get returns the plugin as its file is now, which load reads. If the file was replaced by
// one that cannot be loaded, get calls warn once, and goes on returning the plugin that it
// had.
func (c *cachedModule[P]) get(ctx context.Context, name, path string, load func(context.Context, string) (*P, error), warn func(string)) (*P, error) {
	if err := c.loading.Lock(ctx); err != nil {
		return nil, fmt.Errorf("load plugin %s: %w", name, err)
	}
	defer c.loading.Unlock()
	before := c.current()
	now := versionOf(path) // before it is read: a change in between is seen next time
	if before != nil && (now.same(c.loaded) || now.file == nil) {
		return before, nil
	}
	p, err := load(ctx, name)
	switch {
	case err == nil:
		c.mu.Lock()
		c.plugin = p
		c.mu.Unlock()
		c.loaded = now
		return p, nil
	case before != nil && ctx.Err() == nil:
		warn(fmt.Sprintf("plugin %s: its file was replaced, and the new one is not used: %v", name, err))
		c.loaded = now
		return before, nil
	}
	return nil, err
}

// fileVersion tells the versions of a file apart without reading it.
type fileVersion struct {
	size    int64
	changed time.Time
	file    fs.FileInfo // for os.SameFile; nil where there is no file
}

// versionOf returns the version of a file. It is zero where the file cannot be looked
// at.
func versionOf(path string) fileVersion {
	at, err := os.Stat(path)
	if err != nil {
		return fileVersion{}
	}
	return fileVersion{at.Size(), at.ModTime(), at}
}

func (v fileVersion) same(other fileVersion) bool {
	if v.file == nil || other.file == nil {
		return v.file == nil && other.file == nil
	}
	return v.size == other.size && v.changed.Equal(other.changed) && os.SameFile(v.file, other.file)
}
