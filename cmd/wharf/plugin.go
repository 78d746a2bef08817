package main

import (
	"github.com/spf13/cobra"
)

func newPlugin(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Install plugins, and look at their files",
		Long:  pluginLong,
		Args:  cobra.ArbitraryArgs,
		RunE:  runGroup,
	}
	cmd.AddCommand(newPluginNew(a), newPluginBuild(a), newPluginAdd(a), newPluginExtras(a), newPluginUpdate(a), newPluginList(a), newPluginInspect(a), newPluginVerify(a),
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
