package auth

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/vault"
)

// recordShape is that of the names that providers give to records. What the host
// keeps for them has a slash in it, and is out of their reach.
var recordShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

const maxKeyPart = 2 << 10 // bytes of an issuer, a resource or a client

// record returns the key of a record that the flow may touch: one of its own provider
// and of no other server. A record that names no resource is bound to the server all
// the same, but for the one type that the provider may be granted to share.
func (f *flow) record(k step.RecordKey) (vault.Key, error) {
	key := vault.Key{Provider: f.config.Name, Issuer: k.Issuer, Resource: k.Resource, Client: k.Client, Name: k.Name}
	server := &f.config.Server
	if err := checkRecordKey(k, server); err != nil {
		return key, err
	}
	switch {
	case f.shares(k):
	case k.Resource == "":
		key.Resource = boundTo(server)
	case k.Resource != server.Resource || !sameOrigin(k.Resource, server.URL): // of another path, or behind a socket, whose origin is any socket's
		key.Resource = boundTo(server) + " " + k.Resource
	}
	if f.config.Vault == nil {
		return key, unavailable("there is no vault")
	}
	return key, nil
}

// checkRecordKey returns what is wrong with the key of a record, whatever is granted.
func checkRecordKey(k step.RecordKey, s *step.Server) error {
	switch {
	case !recordShape().MatchString(k.Name):
		return violationf("it names a record %q", cleantext.Line(k.Name, 64))
	case max(len(k.Issuer), len(k.Resource), len(k.Client)) > maxKeyPart:
		return violationf("it names a record with more than %d bytes in one part", maxKeyPart)
	case k.Resource != "" && k.Resource != s.Resource && !sameOrigin(k.Resource, s.URL):
		return violationf("it asks for a record of the resource %q, and the server is not there", cleantext.Line(k.Resource, 200))
	}
	return nil
}

// shares reports whether a record is one for all servers of the provider.
func (f *flow) shares(k step.RecordKey) bool {
	return f.config.Grant.Registrations && k == step.RegistrationKey(k.Issuer) && sameOrigin(k.Issuer, k.Issuer)
}

// checkShared holds the value of a record that servers share to its type, so that
// nothing else of one server's gets to another by it.
func checkShared(value []byte) error {
	var r step.Registration
	if err := strict(value, &r); err != nil {
		return violationf("it shares a registration that is not of the contract: %v", err)
	}
	if max(len(r.Kind), len(r.ID), len(r.Secret), len(r.Method), len(r.Redirect)) > maxKeyPart {
		return violationf("it shares a registration with more than %d bytes in one part", maxKeyPart)
	}
	return nil
}

// boundTo is the resource of vault keys whose record names none: the address of the
// server without its query, its socket, or, where it has no URL, its entry. Servers of one
// origin may be those of different owners. No resource that a provider may name looks like
// one.
func boundTo(s *step.Server) string {
	if u, err := url.Parse(s.URL); err == nil {
		if origin, err := originOf(u); err == nil {
			return "server " + origin + strings.TrimSuffix(u.EscapedPath(), "/")
		}
	}
	if socket, _, _ := strings.Cut(s.URL, "#"); socket != "" {
		return "socket " + socket
	}
	return "entry " + s.Name
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
	value := []byte(r.Value.Reveal())
	switch {
	case !found:
		f.warnOfUnbound(ctx, a.Load.Key, key)
		return &step.Event{}, nil
	case f.shares(a.Load.Key) && checkShared(value) != nil:
		return &step.Event{}, nil // as good as none, and the next store replaces it
	}
	return &step.Event{Record: &step.Record{Value: value}}, nil
}

// warnOfUnbound says so where a record is missed that an earlier version has kept for
// all servers of a provider, or of an origin. Whose it is cannot be told, so no server gets
// it.
func (f *flow) warnOfUnbound(ctx context.Context, k step.RecordKey, key vault.Key) {
	before := []string{k.Resource}
	if u, err := url.Parse(f.config.Server.URL); err == nil && k.Resource == "" {
		if origin, err := originOf(u); err == nil {
			before = append(before, "origin "+origin)
		}
	}
	for _, resource := range before {
		unbound := key
		unbound.Resource = resource
		if f.config.Warn == nil || unbound == key {
			continue
		}
		if _, found, err := f.config.Vault.Load(ctx, unbound); err == nil && found {
			f.config.Warn(fmt.Sprintf("auth provider %s: the record %q was saved for several servers together; each server has its own now, and that one is not used. If %s asks for it, sign in again",
				f.config.Name, k.Name, f.config.Server.Name))
			return
		}
	}
}

func (f *flow) store(ctx context.Context, a *step.Action) (*step.Event, error) {
	key, err := f.record(a.Store.Key)
	if err != nil {
		return nil, err
	}
	if f.shares(a.Store.Key) {
		if err := checkShared(a.Store.Value); err != nil {
			return nil, err
		}
	}
	generation, err := f.config.Vault.Store(ctx, key, secret.New(string(a.Store.Value)))
	if err != nil {
		return nil, vaultProblem(ctx, err)
	}
	f.seen[key] = generation
	f.unlock(key)
	return &step.Event{}, nil
}

// forget removes the record that was loaded, and keeps one that was stored since.
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
