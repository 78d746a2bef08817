package auth

import (
	"context"
	"encoding/json"

	"github.com/go-jose/go-jose/v4"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/vault"
)

const maxKeys = 8 // of one flow

// openKey opens or imports a key. Until the flow ends, the flow knows the key by its name.
func (f *flow) openKey(ctx context.Context, a *step.Action) (*step.Event, error) {
	k := a.Key
	if len(f.keys) >= maxKeys && f.keys[k.Name] == nil {
		return nil, violationf("it asks for more than %d keys", maxKeys)
	}
	var got *key
	var err error
	if k.Do == step.KeyImport {
		got, err = readKey(k.Alg, k.PEM)
	} else {
		got, err = f.savedKey(ctx, k)
	}
	if err != nil {
		return nil, err
	}
	public, err := got.public()
	f.keys[k.Name] = got
	return &step.Event{Key: public}, err
}

// savedKey returns the saved key of this provider and server, or makes and saves one. If two
// processes do so at a time, both get the key of the first.
func (f *flow) savedKey(ctx context.Context, k *step.Key) (*key, error) {
	if f.config.Vault == nil {
		return nil, unavailable("there is no vault")
	}
	name := vault.Key{Provider: f.config.Name, Resource: keyHolder(&f.config.Server), Name: "key/" + k.Alg + "/" + k.Name}
	if got, err := f.loadKey(ctx, name, k.Alg); got != nil || err != nil {
		return got, err
	}
	unlock, err := f.config.Vault.Lock(ctx, name)
	if err != nil {
		return nil, vaultProblem(ctx, err)
	}
	defer unlock()
	if got, err := f.loadKey(ctx, name, k.Alg); got != nil || err != nil {
		return got, err
	}
	made, text, err := newKey(k.Alg)
	if err == nil {
		_, err = f.config.Vault.Store(ctx, name, text)
	}
	if err != nil {
		return nil, vaultProblem(ctx, err)
	}
	return made, nil
}

// loadKey returns a saved key. It returns nil if there is none, or none that can be read.
func (f *flow) loadKey(ctx context.Context, name vault.Key, alg string) (*key, error) {
	r, found, err := f.config.Vault.Load(ctx, name)
	if err != nil {
		return nil, vaultProblem(ctx, err)
	}
	if !found {
		return nil, nil
	}
	got, _ := readKey(alg, r.Value.Reveal())
	return got, nil
}

// sign makes the JWT that the provider asks for. The host sets the parts of its header that decide
// how it is read (RFC 7515, section 4.1).
func (f *flow) sign(_ context.Context, a *step.Action) (*step.Event, error) {
	k := f.keys[a.Sign.Key]
	if k == nil {
		return nil, violationf("it has no key %q", cleantext.Line(a.Sign.Key, 64))
	}
	var header, claims map[string]json.RawMessage
	if len(a.Sign.Header) > 0 && json.Unmarshal(a.Sign.Header, &header) != nil {
		return nil, violationf("the header of its JWT is no object")
	}
	if json.Unmarshal(a.Sign.Claims, &claims) != nil || claims == nil {
		return nil, violationf("the claims of its JWT are no object")
	}
	opts := &jose.SignerOptions{}
	for name, value := range header {
		if name == "alg" || name == "crit" || name == "b64" {
			return nil, violationf("the header of its JWT sets %s, which is not its to set", name)
		}
		opts.WithHeader(jose.HeaderKey(name), value)
	}
	jwt, err := k.sign(opts, a.Sign.Claims)
	if err != nil {
		return nil, err
	}
	return &step.Event{Signed: &step.Signed{JWT: jwt}}, nil
}
