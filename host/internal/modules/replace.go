package modules

import (
	"context"
	"maps"
	"reflect"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
)

// Replace replaces the configured files, and returns the names of the plugins that changed: their
// entries changed, or their file on disk was replaced by another that can be loaded. A plugin that
// can be loaded now, but could not before, has changed. ctx bounds the loading.
func (m *Cache) Replace(ctx context.Context, files map[string]config.Plugin) (changed map[string]bool, err error) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil, hosterr.ErrClosed
	}
	changed = make(map[string]bool)
	for _, set := range []map[string]config.Plugin{m.files, files} {
		for name := range set {
			if !reflect.DeepEqual(m.files[name], files[name]) {
				changed[name] = true
				delete(m.transports, name)
				delete(m.providers, name)
				delete(m.policies, name)
			}
		}
	}
	m.files = files
	transports, providers, policies := maps.Clone(m.transports), maps.Clone(m.providers), maps.Clone(m.policies)
	m.mu.Unlock()
	compare(ctx, transports, m.Transport, changed)
	compare(ctx, providers, m.Provider, changed)
	compare(ctx, policies, m.Policy, changed)
	return changed, nil
}

// compare adds the names of the plugins for which newest returns another version.
func compare[P any](ctx context.Context, known map[string]*cachedModule[P], newest func(context.Context, string) (*P, error), changed map[string]bool) {
	for name, c := range known {
		before := c.plugin.Load()
		if now, err := newest(ctx, name); err == nil && now != before {
			changed[name] = true
		}
	}
}
