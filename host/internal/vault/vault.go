package vault

import (
	"context"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// Key names a record. Provider and Name are never empty; the others are where
// the record is bound to nothing of that kind. Every part is authenticated with
// the value: what was stored under one key opens under no other.
type Key struct {
	Provider string // that the record belongs to: it is given no other's
	Issuer   string // the authorization server
	Resource string // the MCP server, as in RFC 8707
	Client   string // the client id
	Name     string // what the record holds: "token"
}

// Record is what a key stands for.
type Record struct {
	Value      secret.Secret
	Generation uint64 // never 0; a later Store in the same file has a higher one
}

// Entry is what can be said of a record without the key.
type Entry struct {
	Key
	Stored time.Time // by the clock of who stored it; for people, and not authenticated
}

// Status is how a vault is kept, for people.
type Status struct {
	Keeper  string // [KeeperKeyring] or [KeeperFile]: where the key is, or would be
	Path    string // of the file of records, whether or not it exists
	Problem string // why records cannot be opened, and what to do; "" if nothing is wrong
}

// Where the key of a vault is.
const (
	KeeperKeyring = "keyring"
	KeeperFile    = "file"
)

// Config says where a vault is.
type Config struct {
	// Dir is the folder of the vault. It is made when something is first
	// stored or locked, and must be the user's alone.
	Dir string

	// Keyring keeps the key; nil is that of the operating system.
	Keyring Keyring

	// Warn gets a line for the person if the key has to lie in a file. It is
	// called at most once, from within any method; nil drops the line.
	Warn func(string)
}

// Keyring keeps small secrets for the user. Its methods may hang, for as long as
// a dialog is open or for ever: the vault calls them on a goroutine of their own
// and waits a bounded time. Get says [ErrNotFound] for what it does not have.
type Keyring interface {
	Get(service, user string) (string, error)
	Set(service, user, text string) error
}

// Open returns the vault in a folder. It touches nothing: neither disk nor
// keyring is asked for anything before a method needs it.
func Open(cfg Config) *Vault { panic("skeleton") }

// Vault is a file of encrypted records that processes share. Its methods may be
// called at any time from any goroutine, also on several vaults of one folder.
// It holds nothing open between two calls but the locks that were asked for.
type Vault struct{}

// Load returns the record of a key, and whether there is one. It waits for no
// lock: what it returns is a record that was once stored completely, and the
// newest at some time during the call.
func (v *Vault) Load(ctx context.Context, key Key) (Record, bool, error) { panic("skeleton") }

// Store writes a record in place of the one of the same key, and returns once it
// would outlive a loss of power. After an error either record may be there; the
// file is whole in any case. It needs no lock of the record.
func (v *Vault) Store(ctx context.Context, key Key, value secret.Secret) (generation uint64, err error) {
	panic("skeleton")
}

// Forget removes the record of a key if it still has that generation; 0 stands
// for any. A record that is not there, or has been replaced, is no error. It
// needs no key of the vault, so that a login can be dropped that cannot be read.
func (v *Vault) Forget(ctx context.Context, key Key, generation uint64) error { panic("skeleton") }

// Lock waits until no one else has the record locked, in this process or in any
// other, and locks it until unlock is called or the process ends, in whatever
// way. It keeps out who asks for it and no one else: Load and Store do not.
// unlock may be called more than once.
//
// Hold one lock at a time. Between processes records share a bounded number of
// locks, so that two flows that hold one each and want another may wait for each
// other even if they mean four different records; ctx is what ends that.
func (v *Vault) Lock(ctx context.Context, key Key) (unlock func(), err error) { panic("skeleton") }

// List returns what is in the vault, in the order of the keys. It needs no key of
// the vault and proves nothing: names are authenticated when a record is opened.
func (v *Vault) List(ctx context.Context) ([]Entry, error) { panic("skeleton") }

// Has reports whether a provider has a record for a resource, as far as can be
// told without the key. A file that cannot be read has none.
func (v *Vault) Has(provider, resource string) bool { panic("skeleton") }

// Status says where the key is and whether it can be had. It asks the keyring
// and may take as long as one call of it may.
func (v *Vault) Status() Status { panic("skeleton") }
