package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/plugins"
)

func newPluginRemove(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Forget an installed plugin, and delete its file and what it keeps in the vault", Aliases: []string{"rm"},
		Args: exactly("NAME"),
		RunE: a.onStore(func(ctx context.Context, store *pluginstore.Store, args []string) error {
			if err := store.Remove(ctx, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "%s is removed.\n", plain.Line(args[0]))
			a.warnStillNamed(args[0])
			return nil
		}),
		ValidArgsFunction: a.completePlugins(cobra.ShellCompDirectiveNoFileComp),
	}
	cmd.Flags().Bool("yes", false, "changes nothing: it does not ask")
	return cmd
}

// warnStillNamed warns where the configuration names a plugin that was removed, unless another plugin has that name.
func (a *app) warnStillNamed(name string) {
	s, err := a.readSettings()
	if err != nil || s.plugins[name].File != "" || plugins.Builtin()[name] != nil {
		return // commands that need the configuration report an error
	}
	if places := s.naming(name); len(places) > 0 {
		a.Warn("%s still names it, as %s, so calls that need it fail; `wharf edit` opens the file, and `wharf plugin add` adds the plugin again",
			s.place(), plain.Clip(plain.Line(strings.Join(places, ", as ")), warningLetters))
	}
}

// naming says for people where the file names a plugin.
func (s *settings) naming(plugin string) (places []string) {
	for _, server := range s.servers {
		if server.Transport == plugin {
			places = append(places, "the transport of server "+server.Name)
		}
		if server.Auth.Provider == plugin {
			places = append(places, "the auth of server "+server.Name)
		}
	}
	for _, p := range s.policies {
		if p.Plugin == plugin {
			places = append(places, "the plugin of policy "+p.Name)
		}
	}
	return places
}
