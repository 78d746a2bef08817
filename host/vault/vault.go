package vault

import (
	"cmp"
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/internal/securedir"
)

// The files of a vault.
const (
	recordsFile = "vault.json"
	keyFile     = "vault.key"
	writeLock   = "write.lock"
	queueLock   = "queue.lock"
)

// The places where the key of a vault may be.
const (
	KeyInKeyring = "keyring"
	KeyInFile    = "file"
)

// Record is the value that is stored under a key.
type Record struct {
	Value      secret.Secret
	Generation uint64 // never 0; a later Store in the same file has a higher one
}

// Entry holds the parts of a record that can be read without the key.
type Entry struct {
	Key
	Stored time.Time // by the clock of the process that stored it; not authenticated
}

// Status says how a vault is kept, for people.
type Status struct {
	KeySource string // [KeyInKeyring] or [KeyInFile]: where the key is, or would be; "" if the file cannot be read
	Path      string // of the file of records, whether or not it exists
	Problem   string // why records cannot be opened, and what to do; "" if nothing is wrong
}

// Config says where a vault is.
type Config struct {
	// Dir is the folder of the vault. It is made when something is first
	// stored or locked, and must be the user's alone.
	Dir string

	// Keyring keeps the key; nil is that of the operating system.
	Keyring Keyring

	// Warn gets one line for the person if the key has to lie in a file. It is called at most
	// once, from within any method, and must not call the vault. nil drops the line.
	Warn func(string)
}

// Vault is a file of encrypted records that processes share. Its methods may be called at any
// time from any goroutine, also on several vaults of one folder. Between two calls it holds
// nothing open except the locks that a caller took.
type Vault struct {
	folder *securedir.Folder
	locks  *locks
	ring   *keyringClient

	tell   func(string)
	warned sync.Once

	mu   sync.Mutex
	id   string // of the file that aead is for
	aead cipher.AEAD
}

// Open returns the vault in a folder. It touches neither disk nor keyring: methods do so when
// they need to.
func Open(cfg Config) *Vault {
	f := securedir.In(cfg.Dir)
	return &Vault{
		folder: f, tell: cfg.Warn,
		locks: &locks{folder: f, procs: make(map[string]*procLock), files: make(map[string]*fileLock)},
		ring:  &keyringClient{keyring: cmp.Or[Keyring](cfg.Keyring, platform{}), busy: ctxmutex.New()},
	}
}

// Load returns the record of a key, and whether there is one. It waits for no lock. The record
// is one that was stored completely, and was the newest at some time during the call.
func (v *Vault) Load(ctx context.Context, key Key) (Record, bool, error) {
	r, err := v.load(ctx, key)
	if err != nil {
		return Record{}, false, fmt.Errorf("vault: load %s: %w", key, err)
	}
	return r, r.Generation != 0, nil
}

// load returns the record of a key, or the zero Record if there is none.
func (v *Vault) load(ctx context.Context, key Key) (Record, error) {
	if err := key.check(); err != nil {
		return Record{}, err
	}
	b, err := v.read()
	if err != nil || b == nil || b.find(key) < 0 {
		return Record{}, err
	}
	aead, err := v.cipherOf(ctx, b)
	if err != nil {
		return Record{}, err
	}
	r := b.Records[b.find(key)]
	value, err := unseal(aead, r.Sealed, b.aboutRecord(r.Key, r.Generation))
	if err != nil {
		return Record{}, fmt.Errorf("%s: %w; sign out and in again", v.folder.Path(recordsFile), err)
	}
	return Record{Value: value, Generation: r.Generation}, nil
}

// Store writes a record in place of the one of the same key. When it returns, the record
// survives a loss of power. After an error either record may be there, but the file is whole.
// Store needs no lock of the record.
func (v *Vault) Store(ctx context.Context, key Key, value secret.Secret) (generation uint64, err error) {
	err = v.change(ctx, key, func(b *fileV1) (*fileV1, error) {
		if len(value.Reveal()) > maxValue {
			return nil, fmt.Errorf("the value has %d bytes; %d are the most", len(value.Reveal()), maxValue)
		}
		var aead cipher.AEAD
		var err error
		if b == nil {
			b, aead, err = v.create(ctx)
		} else {
			aead, err = v.cipherOf(ctx, b)
		}
		if err != nil {
			return nil, err
		}
		if generation, err = b.next(); err != nil {
			return nil, err
		}
		sealed := seal(aead, value.Reveal(), b.aboutRecord(key, generation))
		r := record{Key: key, Generation: generation, Stored: time.Now().UTC().Truncate(time.Second), Sealed: sealed}
		if i := b.find(key); i >= 0 {
			b.Records[i] = r
		} else {
			b.Records = append(b.Records, r)
		}
		return b, nil
	})
	if err != nil {
		return 0, fmt.Errorf("vault: store %s: %w", key, err)
	}
	return generation, nil
}

// Forget removes the record of a key if it still has that generation; 0 stands for any. It is no
// error if the record is missing or was replaced. Forget needs no key of the vault, so it can
// drop a login that cannot be read.
func (v *Vault) Forget(ctx context.Context, key Key, generation uint64) error {
	if b, err := v.read(); err == nil && b == nil {
		return nil // and no folder is made for it
	}
	err := v.change(ctx, key, func(b *fileV1) (*fileV1, error) {
		if b == nil {
			return nil, nil
		}
		i := b.find(key)
		if i < 0 || generation != 0 && b.Records[i].Generation != generation {
			return nil, nil
		}
		b.Records = slices.Delete(b.Records, i, i+1)
		return b, nil
	})
	if err != nil {
		return fmt.Errorf("vault: forget %s: %w", key, err)
	}
	return nil
}

// change reads the file, lets edit change it, and writes the result, all under the lock that
// every writer takes. edit gets nil if there is no file, and returns nil if there is nothing to
// write.
func (v *Vault) change(ctx context.Context, key Key, edit func(*fileV1) (*fileV1, error)) error {
	if err := key.check(); err != nil {
		return err
	}
	unlock, err := v.lockWrites(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	b, err := v.read()
	if err != nil {
		return err
	}
	if b, err = edit(b); b == nil || err != nil {
		return err
	}
	text, err := b.text()
	if err != nil {
		return err
	}
	return v.folder.Write(recordsFile, text)
}

// lockWrites locks the file. A process that waits tries the file every [poll], and holds the
// queue lock meanwhile. So the process that had the file last does not get it again first.
func (v *Vault) lockWrites(ctx context.Context) (unlock func(), err error) {
	leave, err := v.locks.take(ctx, queueLock, queueLock)
	if err != nil {
		return nil, err
	}
	defer leave()
	return v.locks.take(ctx, writeLock, writeLock)
}

// read returns the file, or nil if there is none.
func (v *Vault) read() (*fileV1, error) {
	text, err := v.folder.Read(recordsFile, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b, err := parse(text)
	if err != nil {
		path := v.folder.Path(recordsFile)
		err = fmt.Errorf("it is not a vault that this program wrote: %w; restore it, "+startOver, err, path)
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return b, nil
}

// Lock waits until no other caller, in this process or another, has the record locked. It then
// locks the record until unlock is called or the process ends in any way. It excludes other
// calls of Lock only: Load and Store do not take the lock. unlock may be called more than once.
//
// Hold one lock at a time. Between processes, records share a bounded number of locks. Two flows
// that each hold one and want another may wait for each other, even if they mean four different
// records. Only the end of ctx ends that.
func (v *Vault) Lock(ctx context.Context, key Key) (unlock func(), err error) {
	if err = key.check(); err == nil {
		file := fmt.Sprintf("record-%02d.lock", key.bucket())
		unlock, err = v.locks.take(ctx, "record"+string(key.append(nil)), file)
	}
	if err != nil {
		return nil, fmt.Errorf("vault: lock %s: %w", key, err)
	}
	return unlock, nil
}

// List returns the entries of the vault, in the order of the keys. It needs no key of the vault
// and proves nothing: names are authenticated when a record is opened.
func (v *Vault) List(_ context.Context) ([]Entry, error) {
	b, err := v.read()
	if err != nil {
		return nil, fmt.Errorf("vault: list: %w", err)
	}
	if b == nil {
		return nil, nil
	}
	entries := make([]Entry, 0, len(b.Records))
	for _, r := range b.Records {
		entries = append(entries, Entry{Key: r.Key, Stored: r.Stored})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return compareKeys(a.Key, b.Key) })
	return entries, nil
}

// Has reports whether a provider has a record for a resource, without proof by the key. It is
// false if the file cannot be read.
func (v *Vault) Has(provider, resource string) bool {
	entries, _ := v.List(context.Background())
	return slices.ContainsFunc(entries, func(e Entry) bool {
		return e.Provider == provider && e.Resource == resource
	})
}

// Status says where the key is and whether it can be read. It asks the keyring, and may take as
// long as one call of that.
func (v *Vault) Status() Status {
	s := Status{Path: v.folder.Path(recordsFile)}
	b, err := v.read()
	switch {
	case err != nil:
	case b != nil:
		s.KeySource = b.KeySource
		_, err = v.cipherOf(context.Background(), b)
	default:
		s.KeySource = KeyInKeyring
		if _, none := v.ring.get(context.Background(), "probe"); none != nil && !errors.Is(none, ErrNotFound) {
			s.KeySource = KeyInFile // the keyring did not even understand
		}
	}
	if err != nil {
		s.Problem = err.Error()
	}
	return s
}
