package auth

import (
	"context"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/extism"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// recordShape matches the names that providers may give to records and keys. The host's own names
// contain a slash, so no provider can use them.
var recordShape = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

const maxKeyPart = 2 << 10 // bytes of an issuer, a resource or a client

// record returns the vault key of a record that the flow may use: a record of its own provider and
// its own server. A record that names no resource is bound to the server too, except for the one
// type that a grant lets servers share.
func (f *flow) record(k step.RecordKey) (vault.Key, error) {
	key := vault.Key{Provider: f.config.Name, Issuer: k.Issuer, Resource: k.Resource, Client: k.Client, Name: k.Name}
	server := &f.config.Server
	if err := checkRecordKey(k, server); err != nil {
		return key, err
	}
	switch {
	case f.shares(k):
	case k.Resource == "":
		key.Resource = BoundTo(server)
	case k.Resource != server.Resource || !sameOrigin(k.Resource, server.URL): // of another path, or behind a socket, where all origins are alike
		key.Resource = BoundTo(server) + " " + k.Resource
	}
	if f.config.Vault == nil {
		return key, unavailable("there is no vault")
	}
	return key, nil
}

// checkRecordKey returns what is wrong with the key of a record, whatever is granted.
func checkRecordKey(k step.RecordKey, s *step.Server) error {
	switch {
	case !recordShape.MatchString(k.Name):
		return violationf("it names a record %q", cleantext.Line(k.Name, 64))
	case max(len(k.Issuer), len(k.Resource), len(k.Client)) > maxKeyPart:
		return violationf("it names a record with more than %d bytes in one part", maxKeyPart)
	case k.Resource != "" && k.Resource != s.Resource && !sameOrigin(k.Resource, s.URL):
		return violationf("it asks for a record of the resource %q, and the server is not there", cleantext.Line(k.Resource, 200))
	}
	return nil
}

// shares reports whether all servers of the provider share a record.
func (f *flow) shares(k step.RecordKey) bool {
	return f.config.Grant.Registrations && k == step.RegistrationKey(k.Issuer) && sameOrigin(k.Issuer, k.Issuer)
}

// checkShared checks that the value of a shared record has the record's type, so that it carries
// nothing else from one server to another.
func checkShared(value []byte) error {
	var r step.Registration
	if err := extism.Decode(value, &r); err != nil {
		return violationf("it shares a registration that is not of the contract: %v", err)
	}
	if max(len(r.Kind), len(r.ID), len(r.Secret), len(r.Method), len(r.Redirect)) > maxKeyPart {
		return violationf("it shares a registration with more than %d bytes in one part", maxKeyPart)
	}
	return nil
}

// BoundTo is the resource of the vault key of a record that names no resource: the address of
// the server without its query, its socket, or, if it has no URL, its entry. The path is part
// of it, because servers of one origin may have different owners. A provider cannot name a
// resource that looks like this.
func BoundTo(s *step.Server) string {
	if origin, u, err := originOf(s.URL); err == nil {
		return "server " + origin + strings.TrimSuffix(u.EscapedPath(), "/")
	}
	if socket, _, _ := strings.Cut(s.URL, "#"); socket != "" {
		return "socket " + socket
	}
	return "entry " + s.Name
}

// keyHolder returns the resource under which the vault keeps the private keys of a server.
func keyHolder(s *step.Server) string {
	if sameOrigin(s.Resource, s.URL) {
		return s.Resource
	}
	return BoundTo(s)
}

// IsOf reports whether the key of a vault is that of a record of the server, of whatever provider.
func IsOf(key vault.Key, server *step.Server) bool {
	bound := BoundTo(server)
	return key.Resource == keyHolder(server) || strings.HasPrefix(key.Resource+" ", bound+" ")
}

// load loads a record, and locks it if the provider asks for that.
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
		return &step.Event{}, nil // it counts as missing, and the next store replaces it
	}
	return &step.Event{Record: &step.Record{Value: value}}, nil
}

// warnOfUnbound warns if the server's own record is missing, and an earlier version has kept one
// record for all servers of a provider or an origin. That record does not say to which server it
// belongs, so no server gets it.
func (f *flow) warnOfUnbound(ctx context.Context, k step.RecordKey, key vault.Key) {
	before := []string{k.Resource}
	if origin, _, err := originOf(f.config.Server.URL); err == nil && k.Resource == "" {
		before = append(before, "origin "+origin)
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

// store stores a record and unlocks it.
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

// forget removes the record that was loaded and unlocks it. It keeps a record that was stored
// since.
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

// vaultProblem returns the problem that a provider gets when the vault fails. If the flow has
// ended, it returns the error of that end instead.
func vaultProblem(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return unavailable(err.Error())
}
