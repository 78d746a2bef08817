package auth

import (
	"context"
	"net/url"
	"regexp"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/internal/vault"
)

// recordShape is that of the names that providers give to records. What the host
// keeps for them has a slash in it, and is out of their reach.
var recordShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

const maxKeyPart = 2 << 10 // bytes of an issuer, a resource or a client

// record returns the key of a record that the provider may touch: one of its own,
// of no other server.
func (f *flow) record(k step.RecordKey) (vault.Key, error) {
	key := vault.Key{Provider: f.config.Name, Issuer: k.Issuer, Resource: k.Resource, Client: k.Client, Name: k.Name}
	switch {
	case !recordShape.MatchString(k.Name):
		return key, breachf("it names a record %q", capability.Clean(k.Name, 64))
	case max(len(k.Issuer), len(k.Resource), len(k.Client)) > maxKeyPart:
		return key, breachf("it names a record with more than %d bytes in one part", maxKeyPart)
	case k.Resource != "" && !sameOrigin(k.Resource, f.config.Server.URL):
		return key, breachf("it asks for a record of the resource %q, and the server is not there", capability.Clean(k.Resource, 200))
	case f.config.Vault == nil:
		return key, unavailable("there is no vault")
	}
	return key, nil
}

func sameOrigin(a, b string) bool {
	ua, errA := url.Parse(a)
	ub, errB := url.Parse(b)
	if errA != nil || errB != nil {
		return false
	}
	oa, errA := originOf(ua)
	ob, errB := originOf(ub)
	return errA == nil && errB == nil && oa == ob
}

func (f *flow) load(ctx context.Context, a *step.Action) (*step.Event, error) {
	key, err := f.record(a.Load.Key)
	if err != nil {
		return nil, err
	}
	if a.Load.Lock && f.locks[key] == nil {
		unlock, err := f.config.Vault.Lock(f.time, key)
		if err != nil {
			return nil, vaultProblem(f.time, err)
		}
		f.locks[key] = unlock
	}
	r, found, err := f.config.Vault.Load(ctx, key)
	if err != nil {
		return nil, vaultProblem(ctx, err)
	}
	f.seen[key] = r.Generation
	if !found {
		return &step.Event{}, nil
	}
	return &step.Event{Record: &step.Record{Value: []byte(r.Value.Reveal())}}, nil
}

func (f *flow) store(ctx context.Context, a *step.Action) (*step.Event, error) {
	key, err := f.record(a.Store.Key)
	if err != nil {
		return nil, err
	}
	if n := len(a.Store.Value); n > step.MaxRecord || n == 0 {
		return nil, breachf("it stores a record of %d bytes, there may be 1 to %d", n, step.MaxRecord)
	}
	generation, err := f.config.Vault.Store(ctx, key, secret.New(string(a.Store.Value)))
	if err != nil {
		return nil, vaultProblem(ctx, err)
	}
	f.seen[key] = generation
	f.unlock(key)
	return &step.Event{}, nil
}

// forget removes what was loaded, and not what somebody else has stored since.
func (f *flow) forget(ctx context.Context, a *step.Action) (*step.Event, error) {
	key, err := f.record(a.Forget.Key)
	if err != nil {
		return nil, err
	}
	if generation, known := f.seen[key]; !known || generation != 0 {
		if err := f.config.Vault.Forget(ctx, key, generation); err != nil {
			return nil, vaultProblem(ctx, err)
		}
	}
	f.unlock(key)
	return &step.Event{}, nil
}

func (f *flow) unlock(key vault.Key) {
	if unlock := f.locks[key]; unlock != nil {
		delete(f.locks, key)
		unlock()
	}
}

// vaultProblem is what a provider hears of an error of the vault. The end of the
// flow is none.
func vaultProblem(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return unavailable(err.Error())
}
