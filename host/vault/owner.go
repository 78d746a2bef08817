package vault

import (
	"context"
	"errors"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// Owner returns the name under which the records of an auth provider are stored: its own name and,
// if it was installed, "@" and the installation. So a plugin that is installed later under the same
// name never gets them. The name of a provider has no @.
func Owner(name, installation string) string {
	if installation == "" {
		return name
	}
	return name + "@" + installation
}

// ProviderOf returns the name of the auth provider in an owner.
func ProviderOf(owner string) string {
	name, _, _ := strings.Cut(owner, "@")
	return name
}

// Scope is a vault for one owner, which takes the place of the provider in every key.
type Scope struct {
	Vault *Vault
	Owner string
}

// Load is [Vault.Load].
func (s Scope) Load(ctx context.Context, key Key) (Record, bool, error) {
	return s.Vault.Load(ctx, s.own(key))
}

// Store is [Vault.Store].
func (s Scope) Store(ctx context.Context, key Key, value secret.Secret) (uint64, error) {
	return s.Vault.Store(ctx, s.own(key), value)
}

// Forget is [Vault.Forget].
func (s Scope) Forget(ctx context.Context, key Key, generation uint64) error {
	return s.Vault.Forget(ctx, s.own(key), generation)
}

// Lock is [Vault.Lock].
func (s Scope) Lock(ctx context.Context, key Key) (unlock func(), err error) {
	return s.Vault.Lock(ctx, s.own(key))
}

// Has is [Vault.Has].
func (s Scope) Has(_, resource string) bool { return s.Vault.Has(s.Owner, resource) }

func (s Scope) own(key Key) Key {
	key.Provider = s.Owner
	return key
}

// ForgetOwner removes all records of an owner.
func (v *Vault) ForgetOwner(ctx context.Context, owner string) error {
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
