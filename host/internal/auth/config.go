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

// Provider is a provider for the flows of one account. Both methods are safe for concurrent use.
// The errors of Step are *Error, or wrap the end of ctx.
type Provider interface {
	Manifest() *step.Manifest
	Step(ctx context.Context, call *step.Call) (*step.Reply, error)
}

// Material is what signs in to a server over a transport other than HTTP.
type Material struct {
	Env  map[string]secret.Secret // variables of its process
	Blob secret.Secret            // for its stream; a transport passes it on unread
}

// Config holds one server, its provider, and what the host can do for both. A nil field means that
// the host cannot do it, and a provider that asks for it gets a problem.
type Config struct {
	// Name is the name of the provider in the user's configuration. Errors and the keys of its
	// records use it, because the name in a provider's manifest gives it no rights.
	Name string

	// Installed says that the provider was installed: a command, and not a line of the
	// configuration, grants its access.
	Installed bool

	// Provider loads the provider for this account alone: see [Plugin.ForAccount]. It is called
	// when a flow needs the provider, again after an error, and never twice at a time.
	Provider func(context.Context) (Provider, error)

	// Lazy says that the provider has no credentials before the first challenge, unless it has
	// stored something for this server. If it has not, it is not loaded before the challenge.
	Lazy bool

	Server   step.Server
	Client   step.Client
	Revision func() string // of the protocol, or "" before it is settled; may be nil
	Grant    Grant

	// Settings returns the settings in the server entry for the provider: a JSON object, which may
	// hold secrets. It is called for each flow. nil means {}.
	Settings func(context.Context) (json.RawMessage, error)

	// Hide gets the values of settings that the provider's manifest calls secret, whatever their names
	// are, before the provider gets them. It may be nil.
	Hide func(texts ...string)

	Vault  Vault
	Fetch  Fetcher
	Listen func(context.Context, step.Listen) (Callback, error) // until the context ends
	Person *signin.Person                                       // nil if there is no person
	Run    func(context.Context) (*step.RunResult, error)       // the command of the server entry
	Warn   func(text string)                                    // gets a line for people; may be nil
}

// Grant says what a provider may do with its results. The [Fetcher] knows which origins it may
// call.
type Grant struct {
	Variables []string // that it may set for the process of a server
	Blob      bool     // it may give a blob to the transport of a server
	Body      bool     // it may see the bodies of the requests that it signs

	// Registrations lets the provider's servers share the clients that it has registered at an
	// issuer (step.RegistrationKey). Otherwise these are kept for each server, like everything
	// else.
	Registrations bool
}

// Vault keeps the records of providers, for several processes; *vault.Vault says what each method
// does.
type Vault interface {
	Load(ctx context.Context, key vault.Key) (vault.Record, bool, error)
	Store(ctx context.Context, key vault.Key, value secret.Secret) (generation uint64, err error)
	Forget(ctx context.Context, key vault.Key, generation uint64) error
	Lock(ctx context.Context, key vault.Key) (unlock func(), err error)
	Has(provider, resource string) bool
}

// Fetcher makes exchanges with the origins that the user granted. *egress.Fetcher implements it,
// for one provider and one server.
type Fetcher interface {
	Fetch(ctx context.Context, r egress.FetchRequest) (*egress.FetchResponse, error)
}

// Callback receives the browser after a sign-in; *egress.Callback says what each method does.
type Callback interface {
	URI() string
	Wait(ctx context.Context, accept func(url.Values) bool) error
	Close() error
}
