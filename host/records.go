package host

import (
	"context"
	"errors"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/internal/vault"
)

// recordsOwner is the provider that a vault knows the records of a provider by: its
// name, and with it, where it was installed, the installation. No name has an @.
func recordsOwner(name, installation string) string {
	if installation == "" {
		return name
	}
	return name + "@" + installation
}

// ownerName is the name of the provider that the records of an owner are of.
func ownerName(owner string) string {
	name, _, _ := strings.Cut(owner, "@")
	return name
}

// ownVault is the vault as one provider has it, which names its records by its name.
type ownVault struct {
	vault *vault.Vault
	owner string
}

func (v ownVault) Load(ctx context.Context, key vault.Key) (vault.Record, bool, error) {
	return v.vault.Load(ctx, v.own(key))
}

func (v ownVault) Store(ctx context.Context, key vault.Key, value secret.Secret) (uint64, error) {
	return v.vault.Store(ctx, v.own(key), value)
}

func (v ownVault) Forget(ctx context.Context, key vault.Key, generation uint64) error {
	return v.vault.Forget(ctx, v.own(key), generation)
}

func (v ownVault) Lock(ctx context.Context, key vault.Key) (unlock func(), err error) {
	return v.vault.Lock(ctx, v.own(key))
}

func (v ownVault) Has(_, resource string) bool { return v.vault.Has(v.owner, resource) }

func (v ownVault) own(key vault.Key) vault.Key {
	key.Provider = v.owner
	return key
}

// forgetRecords removes all that an owner has kept.
func forgetRecords(ctx context.Context, v *vault.Vault, owner string) error {
	entries, err := v.List(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if e.Provider == owner {
			errs = append(errs, v.Forget(ctx, e.Key, 0))
		}
	}
	return errors.Join(errs...)
}
