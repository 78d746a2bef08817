package main

import (
	"cmp"
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/host/registry"
)

// registryEnv names the variable with the address of the registry to ask.
const registryEnv = "WHARF_REGISTRY"

// registerRegistry defines the flag of the commands that ask a registry.
func registerRegistry(cmd *cobra.Command, address *string) {
	cmd.Flags().StringVar(address, "registry", "", "ask the registry at this `URL` (default: $"+registryEnv+", or "+registry.Official+")")
}

// registryAt returns a client of the registry to ask. The caller closes it.
func (a *app) registryAt(address string) (*registry.Client, error) {
	limit, err := a.flags.timeout.request()
	if err != nil {
		return nil, err
	}
	c, err := registry.New(cmp.Or(address, os.Getenv(registryEnv), registry.Official), a.loadSecret)
	if err == nil {
		c.Timeout = limit
	}
	return c, err
}

// loadSecret returns a secret of the vault, "" for none.
func (a *app) loadSecret(ctx context.Context, name string) (string, error) {
	v, err := a.vault()
	if err != nil {
		return "", err
	}
	text, _, err := v.LoadSecret(ctx, name)
	return text, err
}
