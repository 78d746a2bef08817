package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/plugins"
	"github.com/wharf-mcp/wharf/plugins/extras"
)

// openStore returns the store of the user's installed plugins.
func openStore() (*pluginstore.Store, error) {
	dir, files, err := pluginstore.DefaultDirs()
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("find the folder for plugins: %w", err), "they are kept in folders of your own")
	}
	c := pluginstore.Config{
		Dir: dir, Files: files,
		Reserved:  slices.Collect(maps.Keys(plugins.Builtin())),
		Inspector: inspector{},
		Extras:    storeExtras(),
	}
	c.VaultDir, _ = vault.DefaultDir()
	return pluginstore.Open(c), nil
}

// storeExtras are the extras as a store takes them.
func storeExtras() (known []pluginstore.Extra) {
	list, _ := extras.List() // an error is reported by the commands that list them
	for _, e := range list {
		known = append(known, pluginstore.Extra{Name: e.Name, SHA256: e.SHA256, URL: e.URL, Module: e.Module})
	}
	return known
}

// inspector inspects each module in a host of its own. What it compiles in a worker
// stays in the cache.
type inspector struct{}

// Inspect is [host.Host.Inspect].
func (inspector) Inspect(ctx context.Context, path string, module []byte) (*pluginstore.Info, error) {
	c := host.Config{Worker: worker()}
	c.CacheDir, _ = host.DefaultCacheDir()
	h, err := host.New(ctx, c)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return h.Inspect(ctx, path, module)
}
