package modules

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
)

// cachedModule loads a plugin on first use, and again when its file on disk has changed.
// A load that failed is tried again on the next use.
type cachedModule[P any] struct {
	loading ctxmutex.Mutex    // held while the file is checked, and perhaps loaded
	loaded  fs.FileInfo       // of the file that was last checked, nil if there was none; guarded by loading
	plugin  atomic.Pointer[P] // the plugin that was last loaded, or nil
}

// get returns the plugin as its file is now; load reads it. If the file was replaced by one that
// cannot be loaded, get calls warn once and keeps returning the old plugin.
func (c *cachedModule[P]) get(ctx context.Context, name, path string, load func(context.Context, string) (*P, error), warn func(string)) (*P, error) {
	if err := c.loading.Lock(ctx); err != nil {
		return nil, fmt.Errorf("load plugin %s: %w", name, err)
	}
	defer c.loading.Unlock()
	before := c.plugin.Load()
	now, _ := os.Stat(path) // taken before the file is read, so that the next get sees a change in between
	if before != nil && (now == nil || sameVersion(now, c.loaded)) {
		return before, nil
	}
	p, err := load(ctx, name)
	switch {
	case err == nil:
		c.plugin.Store(p)
		c.loaded = now
		return p, nil
	case before != nil && ctx.Err() == nil:
		warn(fmt.Sprintf("plugin %s: its file was replaced, and the new one is not used: %v", name, err))
		c.loaded = now
		return before, nil
	}
	return nil, err
}

// sameVersion reports whether a file is the version that was loaded, without reading it.
func sameVersion(now, loaded fs.FileInfo) bool {
	return loaded != nil && now.Size() == loaded.Size() && now.ModTime().Equal(loaded.ModTime()) && os.SameFile(now, loaded)
}
