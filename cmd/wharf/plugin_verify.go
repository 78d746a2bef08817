package main

import (
	"cmp"
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

// verification is the result of verifying a plugin.
type verification struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Problem string `json:"problem,omitempty"`
}

func (a *app) runPluginVerify(_ context.Context, store *pluginstore.Store, names []string) error {
	all, err := selectPlugins(store, names)
	if err != nil {
		return err
	}
	var wrong error
	list, rows := []verification{}, plain.Table{{"NAME", "STATE", "PROBLEM"}}
	for _, p := range all {
		v, state := verification{p.Name, true, ""}, "ok"
		if err := store.Verify(p); err != nil {
			v.OK, v.Problem, state = false, err.Error(), "wrong"
			wrong = cmp.Or(wrong, err)
		}
		list, rows = append(list, v), append(rows, []string{v.Name, state, plain.Line(v.Problem)})
	}
	if err := a.printList(list, rows); err != nil {
		return err
	}
	return wrong
}

// selectPlugins returns the plugins with some names, or all if there are no names.
func selectPlugins(store *pluginstore.Store, names []string) ([]pluginstore.Installed, error) {
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
