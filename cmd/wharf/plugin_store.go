package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/pluginstore"
)

// completePlugins offers the names of installed plugins for the first word.
func (a *app) completePlugins(others cobra.ShellCompDirective) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		if store, err := openStore(); err == nil && len(args) == 0 {
			installed, _ := store.List() // an error is reported when the command runs
			for _, p := range installed {
				names = append(names, p.Name)
			}
		}
		return names, others
	}
}

// onStore runs a command on the store of installed plugins.
func (a *app) onStore(run func(context.Context, *pluginstore.Store, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		store, err := openStore()
		if err != nil {
			return err
		}
		return run(cmd.Context(), store, args)
	}
}

// installed is how the JSON output shows an installed plugin.
type installed struct {
	Name    string    `json:"name"`
	Plugin  string    `json:"plugin,omitempty"` // its own name
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
		append([]string{}, p.Asked...), append([]string{}, p.Granted...), p.Time, store.Path(p),
	}
}

// accesses lists what a plugin was granted, or asks for.
func accesses(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return plain.Line(strings.Join(list, ", "))
}

func signer(key string) string {
	if key == "" {
		return "no key"
	}
	return pluginstore.KeyID(key)
}

// sayInstalled prints a plugin; for people, its name and what was done.
func (a *app) sayInstalled(store *pluginstore.Store, p pluginstore.Installed, what string) error {
	if !a.forPeople() {
		return a.PrintJSON(installedJSON(store, p))
	}
	return a.Print(p.Name + " " + what + ".\n")
}
