package vault

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// userSecrets is the provider under which the user's own secrets are stored. A provider's name
// never has a slash.
const userSecrets = "user/secret"

// signIns is the provider of the records that count the sign-ins at each server.
const signIns = "user/sign-ins"

// DefaultDir returns the folder of the user's configuration for the vault of Wharf.
func DefaultDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "wharf", "vault"), nil
}

// Entries returns the entries that auth providers have stored, with the providers' names:
// [Vault.List] without the user's own secrets and the counts of sign-ins. It needs no key, and shows no secret.
func (v *Vault) Entries(ctx context.Context) ([]Entry, error) {
	entries, err := v.List(ctx)
	if err != nil {
		return nil, err
	}
	var logins []Entry
	for _, e := range entries {
		if e.Provider != userSecrets && e.Provider != signIns {
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
func (v *Vault) SecretVersion(name string) (string, error) { return v.version(secretKey(name)) }

// version returns a text that is another one each time that a record is stored, and "" if there is none.
func (v *Vault) version(key Key) (string, error) {
	b, err := v.read()
	if err != nil {
		return "", fmt.Errorf("vault: version of a record: %w", err)
	}
	if b == nil || b.find(key) < 0 {
		return "", nil
	}
	return fmt.Sprintf("%x/%d", b.ID, b.Records[b.find(key)].Generation), nil
}

// CountSignIn counts a sign-in or a sign-out at a server, which any text may name. The vault keeps a hash of that text.
// A provider that renews what it has stored does not count.
func (v *Vault) CountSignIn(ctx context.Context, server string) error {
	_, err := v.Store(ctx, signInKey(server), secret.New(""))
	return err
}

// SignInVersion returns a text that is another one after each call of [Vault.CountSignIn] for the server, and "" if there
// was none. It needs no key.
func (v *Vault) SignInVersion(server string) (string, error) { return v.version(signInKey(server)) }

func signInKey(server string) Key {
	sum := sha256.Sum256([]byte(server))
	return Key{Provider: signIns, Name: hex.EncodeToString(sum[:])}
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
