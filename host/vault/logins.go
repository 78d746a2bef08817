package vault

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// userSecrets is the provider under which the user's own secrets are stored. A provider's name
// never has a slash.
const userSecrets = "user/secret"

// DefaultDir returns the folder of the user's configuration for the vault of Wharf.
func DefaultDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "wharf", "vault"), nil
}

// Entries returns the entries that auth providers have stored, with the providers' names:
// [Vault.List] without the user's own secrets. It needs no key, and shows no secret.
func (v *Vault) Entries(ctx context.Context) ([]Entry, error) {
	entries, err := v.List(ctx)
	if err != nil {
		return nil, err
	}
	var logins []Entry
	for _, e := range entries {
		if e.Provider != userSecrets {
			e.Provider = ProviderOf(e.Provider)
			logins = append(logins, e)
		}
	}
	return logins, nil
}

// Secrets returns the names of the user's own secrets, sorted. It needs no key, and shows no
// secret.
func (v *Vault) Secrets() ([]string, error) {
	entries, err := v.List(context.Background())
	var names []string
	for _, e := range entries {
		if e.Provider == userSecrets {
			names = append(names, e.Name)
		}
	}
	return names, err
}

// SecretVersion returns a text that is another one each time that the secret is stored, and "" if there is none. It needs
// no key, and tells nothing of the secret.
func (v *Vault) SecretVersion(name string) (string, error) {
	b, err := v.read()
	if err != nil {
		return "", fmt.Errorf("vault: version of a secret: %w", err)
	}
	if b == nil || b.find(secretKey(name)) < 0 {
		return "", nil
	}
	return fmt.Sprintf("%x/%d", b.ID, b.Records[b.find(secretKey(name))].Generation), nil
}

// StoreSecret stores a secret of the user, for entries that say { secret = "name" }.
func (v *Vault) StoreSecret(ctx context.Context, name, value string) error {
	_, err := v.Store(ctx, secretKey(name), secret.New(value))
	return err
}

// ForgetSecret removes a secret of the user. It is no error if there is none.
func (v *Vault) ForgetSecret(ctx context.Context, name string) error {
	return v.Forget(ctx, secretKey(name), 0)
}

// LoadSecret returns a secret of the user. found is false if there is none.
func (v *Vault) LoadSecret(ctx context.Context, name string) (value string, found bool, err error) {
	r, found, err := v.Load(ctx, secretKey(name))
	return r.Value.Reveal(), found, err
}

func secretKey(name string) Key { return Key{Provider: userSecrets, Name: name} }
