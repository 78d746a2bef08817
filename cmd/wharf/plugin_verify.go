package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/pluginstore"
)

func newPluginVerify(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "verify [NAME…]", Short: "Read installed plugins again, and compare them with the lock and their signatures",
		Args: cobra.ArbitraryArgs, RunE: a.onStore(a.runPluginVerify),
		ValidArgsFunction: a.completePlugins(cobra.ShellCompDirectiveNoFileComp),
	}
}

// verdict is what became of comparing a plugin.
type verdict struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Problem string `json:"problem,omitempty"`
}

func (a *app) runPluginVerify(_ context.Context, store *pluginstore.Store, names []string) error {
	all, err := meantPlugins(store, names)
	if err != nil {
		return err
	}
	var wrong error
	list, rows := []verdict{}, plain.Table{{"NAME", "STATE", "PROBLEM"}}
	for _, p := range all {
		v, state := verdict{p.Name, true, ""}, "ok"
		if err := store.Verify(p); err != nil {
			v.OK, v.Problem, state = false, err.Error(), "wrong"
			if wrong == nil {
				wrong = err
			}
		}
		list, rows = append(list, v), append(rows, []string{v.Name, state, plain.Line(v.Problem)})
	}
	if !a.forPeople() {
		err = a.PrintJSON(list)
	} else {
		err = a.PrintTable(rows)
	}
	if err != nil {
		return err
	}
	return wrong
}

// meantPlugins returns the plugins of some names, or all without any.
func meantPlugins(store *pluginstore.Store, names []string) ([]pluginstore.Installed, error) {
	if len(names) == 0 {
		return store.List()
	}
	var all []pluginstore.Installed
	for _, name := range names {
		p, err := store.Find(name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}
