package auth

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/egress"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/vault"
)

// Provider is a provider as the flows of one account see it. Both methods are safe
// for concurrent use; the errors of Step are *Error, or wrap the end of ctx.
type Provider interface {
	Manifest() *step.Manifest
	Step(ctx context.Context, call *step.Call) (*step.Reply, error)
}

// Material is what signs in to a server over another transport than HTTP.
type Material struct {
	Env  map[string]secret.Secret // variables of its process
	Blob secret.Secret            // of its stream; a transport passes it on unread
}

// Config is one server, the provider that signs in to it, and what the host can do for
// the two. A field that is nil means that the host cannot do it, and a provider that asks
// for it gets a problem.
type Config struct {
	// Name is what the user's configuration calls the provider. Errors and the keys of
	// its records have this name: what a provider calls itself gives it no right to
	// anything.
	Name string

	// Installed says that the provider was installed: what it may call is granted by a
	// command, and not by a line of the configuration.
	Installed bool

	// Provider loads the provider, for this account alone: see [Plugin.ForAccount]. It
	// is called when a flow needs the provider, again after an error, and never twice
	// at a time.
	Provider func(context.Context) (Provider, error)

	// Lazy providers have no credentials before the first challenge, unless they have
	// stored something for this server. Without that they are not loaded before it.
	Lazy bool

	Server   step.Server
	Client   step.Client
	Revision func() string // of the protocol, or "" while it is not settled; may be nil
	Grant    Grant

	// Settings returns what the server entry says to the provider: an object,
	// which may hold secrets. It is called for each flow. nil means {}.
	Settings func(context.Context) (json.RawMessage, error)

	Vault  Vault
	Fetch  Fetcher
	Listen func(context.Context, step.Listen) (Callback, error) // until the context ends
	Person *signin.Person                                       // nil where no person is there
	Run    func(context.Context) (*step.RunResult, error)       // the command of the server entry
	Warn   func(text string)                                    // gets a line for people; may be nil
}

// Grant says what a provider may do with what it has. The [Fetcher] knows which origins
// it may call.
type Grant struct {
	Variables []string // that it may set for the process of a server
	Blob      bool     // it may give a blob to the transport of a server
	Body      bool     // it may see the bodies of the requests that it signs

	// Registrations lets its servers share the clients that it has registered at an
	// issuer (step.RegistrationKey). Without it they are kept for each server, as
	// everything else is.
	Registrations bool
}

// Vault keeps what providers store, for several processes; *vault.Vault says what each
// method does.
type Vault interface {
	Load(ctx context.Context, key vault.Key) (vault.Record, bool, error)
	Store(ctx context.Context, key vault.Key, value secret.Secret) (generation uint64, err error)
	Forget(ctx context.Context, key vault.Key, generation uint64) error
	Lock(ctx context.Context, key vault.Key) (unlock func(), err error)
	Has(provider, resource string) bool
}

// Fetcher makes exchanges with the origins that the user granted; *egress.Fetcher is
// one, made for this provider and this server.
type Fetcher interface {
	Fetch(ctx context.Context, r egress.FetchRequest) (*egress.FetchResponse, error)
}

// Callback is where a browser comes back to; *egress.Callback says what each
// method does.
type Callback interface {
	URI() string
	Wait(ctx context.Context, accept func(url.Values) bool) error
	Close() error
}
