package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/host/registry"
)

// bundleDir returns the folder in which bundles are unpacked, beside the plugin files.
func bundleDir() (string, error) {
	_, files, err := pluginstore.DefaultDirs()
	return filepath.Join(filepath.Dir(files), "bundles"), err
}

// unpack makes an option that is a bundle usable. It does nothing for other options.
func (a *app) unpack(ctx context.Context, c *registry.Client, o *registry.Option) error {
	if o.Bundle == nil {
		return nil
	}
	dir, err := bundleDir()
	if err != nil {
		return err
	}
	defer a.Busy("fetching the bundle")()
	a.unpacked = append(a.unpacked, o.Bundle.SHA256)
	return c.Unpack(ctx, o, dir)
}

// dropBundles removes the bundles that this command has unpacked and that no entry runs, after it has failed.
func (a *app) dropBundles() {
	if len(a.unpacked) == 0 {
		return
	}
	if f, err := a.ownFile(); err == nil { // as it is now
		a.forgetBundles(f, host.Server{Args: a.unpacked})
	}
}

// meansBundle reports whether an entry runs a file from the folder of a bundle.
func meansBundle(s host.Server, name string) bool {
	return slices.ContainsFunc(append([]string{s.Command}, s.Args...), func(word string) bool { return strings.Contains(word, name) })
}

// forgetBundles removes the bundles that the old entry ran and that no entry of the
// file or of the user's own runs now. It reports folders that it could not remove. It removes
// nothing if the user's own file cannot be read.
func (a *app) forgetBundles(f *tomledit.File, was host.Server) {
	dir, err := bundleDir()
	if err != nil {
		return
	}
	kept, err := a.keeping(f)
	if err != nil {
		return
	}
	folders, _ := os.ReadDir(dir)
	for _, folder := range folders {
		name := folder.Name()
		runs := func(s host.Server) bool { return meansBundle(s, name) }
		if len(name) != 64 || !runs(was) || slices.ContainsFunc(kept, runs) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			a.Warn("the bundle was not removed: %v", err)
		}
	}
}
