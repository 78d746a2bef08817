package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/plugins"
)

// openStore returns the plugins that the user installed.
func openStore() (*pluginstore.Store, error) {
	dir, files, err := pluginstore.DefaultDirs()
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("find the folder for plugins: %w", err), "they are kept in folders of your own")
	}
	c := pluginstore.Config{
		Dir: dir, Files: files,
		Reserved:  slices.Collect(maps.Keys(plugins.Builtin())),
		Inspector: inspector{},
	}
	c.VaultDir, _ = vault.DefaultDir()
	return pluginstore.Open(c), nil
}

// inspector inspects each module in a host of its own. What it compiles in a worker
// stays in the cache.
type inspector struct{}

// InspectModule is [host.Host.InspectModule].
func (inspector) InspectModule(ctx context.Context, path string, binary []byte) (*pluginstore.Info, error) {
	c := host.Config{Worker: worker()}
	c.CacheDir, _ = host.DefaultCacheDir()
	h, err := host.New(ctx, c)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return h.InspectModule(ctx, path, binary)
}

// completePlugins offers the names of installed plugins for the first word.
func (a *app) completePlugins(others cobra.ShellCompDirective) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		if store, err := openStore(); err == nil && len(args) == 0 {
			installed, _ := store.List() // an error is told when the command is run
			for _, p := range installed {
				names = append(names, p.Name)
			}
		}
		return names, others
	}
}

// onStore is a command that works on what is installed.
func (a *app) onStore(run func(context.Context, *pluginstore.Store, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		store, err := openStore()
		if err != nil {
			return err
		}
		return run(cmd.Context(), store, args)
	}
}

// installed is what the command tells about an installed plugin.
type installed struct {
	Name    string    `json:"name"`
	Plugin  string    `json:"plugin,omitempty"` // what it calls itself
	Kind    string    `json:"kind"`
	Version string    `json:"version"`
	Summary string    `json:"summary"`
	Source  string    `json:"source"`
	SHA256  string    `json:"sha256"`
	Size    int64     `json:"size"`
	Key     string    `json:"key,omitempty"` // the publisher's
	Asked   []string  `json:"asked"`
	Granted []string  `json:"granted"`
	Time    time.Time `json:"time"`
	File    string    `json:"file"`
}

func installedJSON(store *pluginstore.Store, p pluginstore.Installed) installed {
	return installed{
		p.Name, p.Plugin, string(p.Kind), p.Version, p.Summary, p.Source, p.SHA256, p.Size, p.Key,
		orEmpty(p.Asked), orEmpty(p.Granted), p.Time, store.Path(p),
	}
}

// accesses are the words for what a plugin was granted, or asks for.
func accesses(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return plain.Line(strings.Join(list, ", "))
}

func signer(key string) string {
	if key == "" {
		return "nobody"
	}
	return pluginstore.KeyID(key)
}

// sayInstalled prints a plugin, with what became of it for people.
func (a *app) sayInstalled(store *pluginstore.Store, p pluginstore.Installed, what string) error {
	if !a.forPeople() {
		return a.PrintJSON(installedJSON(store, p))
	}
	return a.Print(p.Name + " " + what + ".\n")
}

func newPlugin(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Install plugins, and look at their files",
		Long:  pluginLong,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0], nil)
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newPluginNew(a), newPluginBuild(a), newPluginAdd(a), newPluginUpdate(a), newPluginList(a), newPluginInspect(a), newPluginVerify(a),
		newPluginGrant(a, true), newPluginGrant(a, false), newPluginRemove(a), newPluginTest(a), newPluginReplay(a))
	return cmd
}

const pluginLong = `Install plugins, and look at their files.

A transport or an auth provider that is no part of wharf is a .wasm file. It runs
in a sandbox: what it may open is what your server entries give it, and of what
kinds that may be is what you grant it here. Once it is installed, entries use it
by its name:

  wharf plugin add https://example.com/pigeon.wasm
  [servers.loft]
  transport = "pigeon"
  address   = "unix:/run/loft.sock"

What is installed stands in a lock in your own configuration folder, and its file
is compared with the lock each time that it is loaded. A [plugins] entry of your
configuration goes before an installed plugin of that name.`

// orEmpty makes null in JSON an empty list.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
