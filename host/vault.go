package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/internal/vault"
)

// Login is something that an auth provider keeps in the vault.
type Login struct {
	Provider string
	Name     string // what it is: "token"
	Resource string // the server it is for: its URL, or "origin …", "socket …" or "entry …" with what it is known by; "" if it is a registration at an issuer, for all servers
	Issuer   string
	Client   string
	Stored   time.Time
}

// VaultStatus says how logins are kept.
//
// Its fields:
//
//	Keeper  string // [KeeperKeyring] or [KeeperFile]: where the key is, or would be; "" if the file cannot be read
//	Path    string // of the file of records, whether or not it exists
//	Problem string // why records cannot be opened, and what to do; "" if nothing is wrong
type VaultStatus = vault.Status

var errNoVault = &hosterr.Error{Kind: ErrConfig, Err: errors.New("there is no vault: this program set no folder for it")}

// Logins lists what is kept in the vault. It needs no key, and shows no secret.
func (h *Host) Logins(ctx context.Context) ([]Login, error) {
	if h.vault == nil {
		return nil, errNoVault
	}
	entries, err := h.vault.List(ctx)
	if err != nil {
		return nil, err
	}
	var logins []Login
	for _, e := range entries {
		if e.Provider != secretsOwner {
			logins = append(logins, Login{vault.ProviderOf(e.Provider), e.Name, e.Resource, e.Issuer, e.Client, e.Stored})
		}
	}
	return logins, nil
}

// VaultStatus says where the key of the vault is and whether it can be had. It
// may ask the keyring, and take as long as that does.
func (h *Host) VaultStatus() (VaultStatus, error) {
	if h.vault == nil {
		return VaultStatus{}, errNoVault
	}
	return h.vault.Status(), nil
}

// secretsOwner keeps the user's own secrets in the vault. No provider can have a
// name with a slash.
const secretsOwner = "user/secret"

// StoreSecret keeps a secret that entries mean by { secret = "name" }.
func (h *Host) StoreSecret(ctx context.Context, name, value string) error {
	if h.vault == nil {
		return errNoVault
	}
	_, err := h.vault.Store(ctx, vault.Key{Provider: secretsOwner, Name: name}, secret.New(value))
	return err
}

// ForgetSecret removes a secret. Not finding it is no error.
func (h *Host) ForgetSecret(ctx context.Context, name string) error {
	if h.vault == nil {
		return errNoVault
	}
	return h.vault.Forget(ctx, vault.Key{Provider: secretsOwner, Name: name}, 0)
}

// authSettings returns the settings of an auth table as its provider reads them.
// Secrets are looked up each time: a token in a file may be renewed by others.
func (h *Host) authSettings(a config.Auth) func(context.Context) (json.RawMessage, error) {
	return func(ctx context.Context) (json.RawMessage, error) {
		values := maps.Clone(a.Settings)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			r, ok := values[key].(config.Reference)
			if !ok {
				continue
			}
			text, err := h.lookUp(ctx, r)
			if err != nil {
				return nil, &hosterr.Error{Kind: ErrConfig, Err: fmt.Errorf("auth.%s: %w", key, err), Hint: Hint(err)}
			}
			h.hideLookedUp(text)
			values[key] = text
		}
		if values == nil {
			return json.RawMessage("{}"), nil
		}
		return json.Marshal(values)
	}
}

// maxSecret is the largest file that is a secret, in bytes.
const maxSecret = 64 << 10

// lookUp returns what a reference leads to.
func (h *Host) lookUp(ctx context.Context, r config.Reference) (string, error) {
	switch {
	case r.Env != "":
		text, set := os.LookupEnv(r.Env)
		if !set {
			return "", fmt.Errorf("the variable %s is not set", r.Env)
		}
		return text, nil
	case r.File != "":
		return readSecret(r.File)
	case h.vault == nil:
		return "", errNoVault
	}
	record, found, err := h.vault.Load(ctx, vault.Key{Provider: secretsOwner, Name: r.Secret})
	if err == nil && !found {
		err = &hosterr.Error{Kind: ErrConfig, Err: fmt.Errorf("there is no secret %q", r.Secret), Hint: "store it with: wharf auth secret " + r.Secret}
	}
	return record.Value.Reveal(), err
}

// readSecret reads a secret from a file. Keys are several lines; the end of the
// last one is not part of it.
func readSecret(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() > maxSecret:
		return "", fmt.Errorf("%s is no file of at most %d KiB", path, maxSecret>>10)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	trimmed := strings.TrimSpace(string(text))
	if trimmed == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return trimmed, nil
}
