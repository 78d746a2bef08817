package main

import (
	"context"
	"fmt"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host/vault"
)

// vault returns the vault of the user's logins and secrets. It returns an error if the configuration
// cannot be read, so that a mistyped --config is told.
func (a *app) vault() (*vault.Vault, error) {
	if _, err := a.load(); err != nil {
		return nil, err
	}
	return a.openVault()
}

// openVault is vault for a command that may be about to write the configuration for the first time.
func (a *app) openVault() (*vault.Vault, error) {
	dir, err := vault.DefaultDir()
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("find the folder for saved logins: %w", err), "they are kept in your own configuration folder")
	}
	return vault.Open(vault.Config{Dir: dir, Warn: func(text string) { a.Warn("%s", text) }}), nil
}

// vaultEntries returns the saved sign-ins.
func (a *app) vaultEntries(ctx context.Context) ([]vault.Entry, error) {
	v, err := a.vault()
	if err != nil {
		return nil, err
	}
	return v.Entries(ctx)
}
