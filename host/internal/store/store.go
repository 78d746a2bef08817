// Package store keeps the plugins that a user installed: the files, by their
// hashes, and the lock, which says what each of them is, where it came from, who
// signed it and what it was granted.
//
// What the lock says is the user's word: nothing in it comes from a plugin but
// what the user was shown. A plugin is read once, and the bytes that were hashed,
// verified and shown are those that are kept; whoever loads the file compares it
// with the hash again.
//
// Both folders are the user's alone, see the package private. Readers wait for
// nobody; writers take a lock between processes. A file is there before the lock
// names it, and is removed after the lock has forgotten it, so what a crash leaves
// is at worst a file that nobody names. The next change removes that.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/plugin"
	"github.com/wharf-mcp/wharf/host/internal/private"
)

// The files of a store.
const (
	bookFile = "plugins.lock.json"
	lockFile = "plugins.flock"
	suffix   = ".wasm"

	// poll is how often a lock is tried that another process has. No system call
	// waits for a lock and can be called off.
	poll = 5 * time.Millisecond
)

// Store is where plugins are. Its methods may be called at any time from any
// goroutine, also in several processes. Between two calls it holds nothing open.
type Store struct{ book, files *private.Folder }

// Open returns the store whose lock is in one folder and whose files are in
// another. They are made when the first plugin is added; Open touches nothing.
func Open(dir, files string) *Store { return &Store{private.In(dir), private.In(files)} }

// Lock returns where the lock is, whether or not there is one.
func (s *Store) Lock() string { return s.book.Path(bookFile) }

// Path returns where the file of a plugin is.
func (s *Store) Path(e Entry) string { return s.files.Path(e.SHA256 + suffix) }

// List returns what is installed, sorted by name. It waits for no lock: the file
// is only ever replaced as a whole.
func (s *Store) List() ([]Entry, error) {
	text, err := s.book.Read(bookFile, maxBook)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		var entries []Entry
		if entries, err = parse(text); err == nil {
			return entries, nil
		}
		err = fmt.Errorf("%s is not what this program wrote: %w; restore it, or remove it and add the plugins again", s.Lock(), err)
	}
	return nil, &LockError{err}
}

// LockError says that the lock cannot be read, or is not what this program left.
// It says what to do.
type LockError struct{ Err error }

func (e *LockError) Error() string { return "installed plugins: " + e.Err.Error() }
func (e *LockError) Unwrap() error { return e.Err }

// Find returns the plugin of a name.
func (s *Store) Find(name string) (e Entry, found bool, err error) {
	entries, err := s.List()
	if i := index(entries, name); i >= 0 {
		return entries[i], true, err
	}
	return Entry{}, false, err
}

func index(entries []Entry, name string) int {
	return slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name })
}

// MissingError says that no plugin of a name is installed.
type MissingError struct{ Name string }

func (e *MissingError) Error() string { return fmt.Sprintf("no plugin %s is installed", quote(e.Name)) }

// TakenError says that a name is that of another plugin.
type TakenError struct{ Name string }

func (e *TakenError) Error() string { return fmt.Sprintf("a plugin %q is installed already", e.Name) }

// ErrChanged says that somebody else changed a plugin meanwhile.
var ErrChanged = errors.New("it was changed meanwhile by another process; look again")

// Add installs a plugin under a name that is free.
func (s *Store) Add(ctx context.Context, e Entry, binary []byte) error {
	return s.change(ctx, func(entries []Entry) ([]Entry, error) {
		if index(entries, e.Name) >= 0 {
			return nil, &TakenError{e.Name}
		}
		return append(entries, e.now()), s.keep(e, binary)
	})
}

// Replace puts another version in the place of one that must still be what was
// seen. The file of the old one is kept until the next change of this plugin, for
// hosts that have read the lock before and load plugins as they need them.
func (s *Store) Replace(ctx context.Context, seen, e Entry, binary []byte) error {
	return s.change(ctx, func(entries []Entry) ([]Entry, error) {
		i, err := same(entries, seen)
		if err != nil {
			return nil, err
		}
		e.Name, e.Former = seen.Name, seen.SHA256
		entries[i] = e.now()
		return entries, s.keep(e, binary)
	})
}

// Grant changes what a plugin was granted.
func (s *Store) Grant(ctx context.Context, name string, edit func(e Entry) (granted []string, err error)) error {
	return s.change(ctx, func(entries []Entry) ([]Entry, error) {
		i := index(entries, name)
		if i < 0 {
			return nil, &MissingError{name}
		}
		granted, err := edit(entries[i].Clone())
		entries[i].Granted = Sorted(granted)
		entries[i] = entries[i].now()
		return entries, err
	})
}

// Remove forgets a plugin and deletes its files.
func (s *Store) Remove(ctx context.Context, name string) error {
	return s.change(ctx, func(entries []Entry) ([]Entry, error) {
		i := index(entries, name)
		if i < 0 {
			return nil, &MissingError{name}
		}
		return slices.Delete(entries, i, i+1), nil
	})
}

// Verify reads the file of a plugin and holds it against the lock and, where it
// was signed, against its signature.
func (s *Store) Verify(e Entry) error {
	binary, err := s.files.Read(e.SHA256+suffix, plugin.MaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("its file %s is gone; add the plugin again", s.Path(e))
	case err != nil:
		return err
	case plugin.Hash(binary) != e.SHA256 || int64(len(binary)) != e.Size:
		return &plugin.HashError{Name: e.Name, Path: s.Path(e), Want: e.SHA256, Got: plugin.Hash(binary)}
	case e.Key == "":
		return nil
	}
	_, err = CheckSignature(e.Key, e.Signature, binary)
	return err
}

func same(entries []Entry, seen Entry) (int, error) {
	i := index(entries, seen.Name)
	if i < 0 || entries[i].SHA256 != seen.SHA256 || entries[i].Key != seen.Key || !slices.Equal(entries[i].Granted, seen.Granted) {
		return i, ErrChanged
	}
	return i, nil
}

func (e Entry) now() Entry {
	e.Time = time.Now().UTC().Truncate(time.Second)
	return e
}

// keep writes the file of a plugin. The caller holds the lock.
func (s *Store) keep(e Entry, binary []byte) error {
	if got := plugin.Hash(binary); got != e.SHA256 || int64(len(binary)) != e.Size {
		return fmt.Errorf("the bytes have sha256 %s, and not that of the entry", got)
	}
	if err := s.files.Claim(); err != nil {
		return err
	}
	return s.files.Write(e.SHA256+suffix, binary)
}

// change lets edit change the entries, under the lock that every writer takes. An
// edit that fails leaves the lock as it was.
func (s *Store) change(ctx context.Context, edit func([]Entry) ([]Entry, error)) error {
	if err := s.book.Claim(); err != nil {
		return &LockError{err}
	}
	lock := s.book.Flock(lockFile)
	if _, err := lock.TryLockContext(ctx, poll); err != nil {
		return fmt.Errorf("installed plugins: %s: %w", lock.Path(), err)
	}
	defer lock.Close() // unlocks it first, which fails for no file that is open
	entries, err := s.List()
	if err != nil {
		return err
	}
	if entries, err = edit(entries); err == nil {
		var text []byte
		if text, err = format(entries); err == nil {
			err = s.book.Write(bookFile, text)
		}
	}
	if err != nil {
		return fmt.Errorf("installed plugins: %w", err)
	}
	s.sweep(entries)
	return nil
}

// sweep removes the files that no entry names. What cannot be removed is tried
// again after the next change; it is in nobody's way. The caller holds the lock.
func (s *Store) sweep(entries []Entry) {
	files, err := os.ReadDir(s.files.Dir)
	if err != nil {
		return
	}
	for _, f := range files {
		hash, ours := strings.CutSuffix(strings.TrimSuffix(f.Name(), ".new"), suffix)
		named := func(e Entry) bool { return f.Name() == e.SHA256+suffix || f.Name() == e.Former+suffix }
		if ours && hashPattern.MatchString(hash) && !slices.ContainsFunc(entries, named) {
			_ = os.Remove(s.files.Path(f.Name()))
		}
	}
}
