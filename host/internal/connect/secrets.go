package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
)

var errNoVault = &hosterr.Error{Kind: hosterr.ErrConfig, Err: errors.New("there is no vault: this program set no folder for it")}

// settings returns a function that returns the settings of a server's auth table for its provider.
// It looks up the secrets each time, because other programs may renew a token in a file.
func (as *Accounts) settings(s config.Server) func(context.Context) (json.RawMessage, error) {
	return func(ctx context.Context) (json.RawMessage, error) {
		values := maps.Clone(s.Auth.Settings)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			r, ok := values[key].(config.Reference)
			if !ok {
				continue
			}
			text, err := as.lookUp(ctx, s, r)
			if err != nil {
				return nil, hosterr.Errorf(hosterr.ErrConfig, hosterr.Hint(err), "auth.%s: %w", key, err)
			}
			as.secrets.shown.HideNamed(text)
			values[key] = text
		}
		if values == nil {
			return json.RawMessage("{}"), nil
		}
		return json.Marshal(values)
	}
}

// Resolve returns an entry with its secrets and with the variables of its file. Both are looked up
// for each connection, and removed from what is shown and recorded. The entry of a project has no
// file here: its variables are those that were approved.
func (d *Dialer) Resolve(ctx context.Context, s config.Server) (config.Server, error) {
	values := make(map[config.Reference]string)
	for _, r := range s.Secrets() {
		text, err := d.Accounts.lookUp(ctx, s, r)
		if in := inputOf(s, r); err != nil && in != nil {
			return s, &hosterr.Error{Kind: hosterr.ErrConfig, Err: &InputError{*in, err}, Hint: hosterr.Hint(err)}
		}
		if err != nil {
			return s, hosterr.Errorf(hosterr.ErrConfig, hosterr.Hint(err), "%s: %w", secretText(r), err)
		}
		d.secrets.shown.HideNamed(text)
		values[r] = text
	}
	s, err := s.Resolve(values)
	if err == nil && s.EnvFile != "" {
		s, err = withEnvFile(s)
	}
	if err != nil {
		return s, hosterr.Configf("%w", err)
	}
	return s, nil
}

// InputError says that the vault has no answer to a question of an entry yet.
type InputError struct {
	Input config.Input
	Err   error // from the vault
}

func (e *InputError) Error() string {
	return fmt.Sprintf("the input %q is asked for on a terminal, once: %v", e.Input.ID, e.Err)
}

func (e *InputError) Unwrap() error { return e.Err }

// inputOf returns the question of an entry whose answer is this secret, or nil.
func inputOf(s config.Server, r config.Reference) *config.Input {
	at := slices.IndexFunc(s.Inputs, func(in config.Input) bool { return r.Secret != "" && in.Secret == r.Secret })
	if at < 0 {
		return nil
	}
	return &s.Inputs[at]
}

// secretText returns the text with which an entry refers to a secret.
func secretText(r config.Reference) string {
	if r.File != "" {
		return "${file:" + r.File + "}"
	}
	return "${secret:" + r.Secret + "}"
}

// withEnvFile returns an entry with the variables of its file added. The entry's own variables take
// precedence.
func withEnvFile(s config.Server) (config.Server, error) {
	path := s.EnvPath()
	text, err := readSmall(path)
	if err != nil {
		return s, s.EnvError(err)
	}
	env, err := config.ParseEnv(path, text)
	if err != nil {
		return s, s.EnvError(err)
	}
	maps.Copy(env, s.Env)
	s.Env, s.EnvFile = env, ""
	return s, nil
}

// maxSecret is the largest size, in bytes, of a file that holds a secret.
const maxSecret = 64 << 10

// lookUp returns the value of a reference in a server entry. In the entry of a project, a variable
// is looked up in this process, as the person has approved.
func (as *Accounts) lookUp(ctx context.Context, s config.Server, r config.Reference) (string, error) {
	switch {
	case r.Env != "":
		lookup := as.config.LookupEnv
		if _, released := s.Claim(); released {
			lookup = os.LookupEnv
		}
		text, set := lookup(r.Env)
		if !set {
			return "", hosterr.Errorf(hosterr.ErrConfig, fmt.Sprintf("set %s where you start wharf", r.Env), "the variable %s is not set", r.Env)
		}
		return text, nil
	case r.File != "":
		return readSecret(r.File)
	case as.config.Vault == nil:
		return "", errNoVault
	}
	if text, given := as.Answers.Get(r.Secret); given {
		return text, nil
	}
	text, found, err := as.config.Vault.LoadSecret(ctx, r.Secret)
	if err == nil && !found {
		err = hosterr.Errorf(hosterr.ErrConfig, "store it with: wharf auth secret "+r.Secret, "there is no secret %q", r.Secret)
	}
	return text, err
}

// readSecret reads a secret from a file. The secret may have several lines, as keys do; the last
// line break is not part of it.
func readSecret(path string) (string, error) {
	text, err := readSmall(path)
	if err != nil {
		return "", err
	}
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return trimmed, nil
}

// readSmall reads a regular file.
func readSmall(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() > maxSecret:
		return "", fmt.Errorf("%s is no file of at most %d KiB", path, maxSecret>>10)
	}
	text, err := os.ReadFile(path)
	return string(text), err
}
