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

// Config is one server, the provider that signs in to it, and all that the host
// can do for the two. What is nil is not there: a provider that asks for it is
// told so.
type Config struct {
	// Name is what the user's configuration calls the provider. Errors name it
	// so, and its records are kept under it: what a provider calls itself gives
	// it no right to anything.
	Name string

	// Installed says that the provider was installed: what it may call is granted by a
	// command, and not by a line of the configuration.
	Installed bool

	// Provider loads it, for this account alone: see [Plugin.ForAccount]. It is
	// called when a flow needs the provider, again after an error, and never twice
	// at a time.
	Provider func(context.Context) (Provider, error)

	// Lazy providers have nothing to say before the first challenge unless they
	// have stored something for this server. They are not even loaded for it.
	Lazy bool

	Server   step.Server
	Client   step.Client
	Revision func() string // of the protocol, or "" while it is not settled; may be nil
	Grant    Grant

	// Settings returns what the server entry says to the provider: an object,
	// which may hold secrets. It is asked anew for each flow. nil is none.
	Settings func(context.Context) (json.RawMessage, error)

	Vault  Vault
	Fetch  Fetcher
	Listen func(context.Context, step.Listen) (Callback, error) // until the context ends
	Person *signin.Person                                       // nil where no person is there
	Run    func(context.Context) (*step.RunResult, error)       // the command of the server entry
	Warn   func(text string)                                    // gets a line for people; may be nil
}

// Grant is what a provider is let do with what it has. Which origins it may call is
// the affair of the [Fetcher].
type Grant struct {
	Variables []string // of the process of a server, that it may set
	Blob      bool     // it may give a blob to the transport of a server

	// Registrations lets its servers share the clients that it has registered at an
	// issuer (step.RegistrationKey). Without it they are kept for each server, as
	// everything else is.
	Registrations bool
}

// Records keeps what providers store; *vault.Vault says what each method does.
type Records interface {
	Load(ctx context.Context, key vault.Key) (vault.Record, bool, error)
	Store(ctx context.Context, key vault.Key, value secret.Secret) (generation uint64, err error)
	Forget(ctx context.Context, key vault.Key, generation uint64) error
}

// Vault is Records that processes share.
type Vault interface {
	Records
	Lock(ctx context.Context, key vault.Key) (unlock func(), err error)
	Has(provider, resource string) bool
}

// Fetcher makes exchanges within what the user granted; *egress.Fetcher is
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
