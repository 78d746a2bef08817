package pluginstore

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
	"github.com/wharf-mcp/wharf/host/internal/securedir"
)

const (
	lockName  = "plugins.lock.json"
	flockName = "plugins.flock"
	suffix    = ".wasm"

	// poll is how often a lock that another process holds is tried again. No system call both
	// waits for a lock and can be cancelled.
	poll = 5 * time.Millisecond
)

// Bounds of a lockfile.
const (
	version     = 1
	maxLockfile = 1 << 20
	maxEntries  = 256
)

// lockfile is the content of the file.
type lockfile struct {
	Version int         `json:"version"`
	Plugins []Installed `json:"plugins"`
}

// format returns the text of entries that parse reads. It returns an error if parse would refuse
// the text.
func format(entries []Installed) ([]byte, error) {
	slices.SortFunc(entries, func(a, b Installed) int { return strings.Compare(a.Name, b.Name) })
	b := lockfile{version, append([]Installed{}, entries...)}
	if err := b.check(); err != nil {
		return nil, err
	}
	text, err := securedir.Format(b)
	if err == nil && len(text) > maxLockfile {
		err = fmt.Errorf("it would have %d bytes; at most %d are kept", len(text), maxLockfile)
	}
	return text, err
}

// parse reads the text of a lockfile, and accepts only what this program could have
// written.
func parse(text []byte) ([]Installed, error) {
	var b lockfile
	err := securedir.Parse(text, &b)
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return nil, err
	}
	return b.Plugins, nil
}

func (b *lockfile) check() error {
	switch {
	case b.Version != version:
		return fmt.Errorf("it is of version %d; expected %d", b.Version, version)
	case len(b.Plugins) > maxEntries:
		return fmt.Errorf("there are %d plugins; at most %d are kept", len(b.Plugins), maxEntries)
	}
	for i, e := range b.Plugins {
		if err := e.check(); err != nil {
			return fmt.Errorf("plugin %d: %w", i+1, err)
		}
		if i > 0 && b.Plugins[i-1].Name >= e.Name {
			return fmt.Errorf("plugin %d is out of order, or there twice", i+1)
		}
	}
	return nil
}

// List returns what is installed, sorted by name. It takes no lock, because the file
// is only ever replaced as a whole.
func (s *Store) List() ([]Installed, error) {
	text, err := s.dir.Read(lockName, maxLockfile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		var entries []Installed
		if entries, err = parse(text); err == nil {
			return entries, nil
		}
		err = fmt.Errorf("%s is not what this program wrote: %w; restore it, or remove it and add the plugins again", s.Lockfile(), err)
	}
	return nil, lockError(err)
}

func index(entries []Installed, name string) int {
	return slices.IndexFunc(entries, func(e Installed) bool { return e.Name == name })
}

// errChanged says that another process changed a plugin meanwhile.
var errChanged = errors.New("it was changed meanwhile by another process; look again")

// add installs a plugin under a name that is free.
func (s *Store) add(ctx context.Context, e Installed, binary []byte) error {
	return s.change(ctx, func(entries []Installed) ([]Installed, error) {
		if index(entries, e.Name) >= 0 {
			return nil, taken(e.Name)
		}
		return append(entries, e.now()), s.keep(e, binary)
	})
}

// replace installs another version of a plugin, whose entry must still equal seen. The file of the
// old version stays until the next change of this plugin: hosts that have read the old lockfile may
// still load it.
func (s *Store) replace(ctx context.Context, seen, e Installed, binary []byte) error {
	return s.change(ctx, func(entries []Installed) ([]Installed, error) {
		i := index(entries, seen.Name)
		if i < 0 || entries[i].SHA256 != seen.SHA256 || entries[i].Key != seen.Key || !slices.Equal(entries[i].Granted, seen.Granted) {
			return nil, errChanged
		}
		e.Name, e.Former = seen.Name, seen.SHA256
		entries[i] = e.now()
		return entries, s.keep(e, binary)
	})
}

// restore writes the file of an installed plugin anew, and its signature. Its entry must still have the hash
// and the key of seen.
func (s *Store) restore(ctx context.Context, seen Installed, signature string, binary []byte) error {
	return s.change(ctx, func(entries []Installed) ([]Installed, error) {
		i := index(entries, seen.Name)
		if i < 0 || entries[i].SHA256 != seen.SHA256 || entries[i].Key != seen.Key {
			return nil, errChanged
		}
		entries[i].Signature = signature
		return entries, s.keep(entries[i], binary)
	})
}

// editGrants changes what a plugin was granted.
func (s *Store) editGrants(ctx context.Context, name string, edit func(e Installed) (granted []string, err error)) error {
	return s.change(ctx, func(entries []Installed) ([]Installed, error) {
		i := index(entries, name)
		if i < 0 {
			return nil, missing(name)
		}
		granted, err := edit(entries[i].Clone())
		entries[i].Granted = sorted(granted)
		entries[i] = entries[i].now()
		return entries, err
	})
}

// remove forgets a plugin and deletes its files.
func (s *Store) remove(ctx context.Context, name string) error {
	return s.change(ctx, func(entries []Installed) ([]Installed, error) {
		i := index(entries, name)
		if i < 0 {
			return nil, missing(name)
		}
		return slices.Delete(entries, i, i+1), nil
	})
}

// verify compares the file of a plugin with the lockfile, and with the signature if
// there is one.
func (s *Store) verify(e Installed) error {
	binary, err := s.files.Read(e.SHA256+suffix, plugin.MaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("its file %s is gone", s.Path(e))
	case err != nil:
		return err
	case plugin.Hash(binary) != e.SHA256 || int64(len(binary)) != e.Size:
		return &plugin.HashError{Name: e.Name, Path: s.Path(e), Want: e.SHA256, Got: plugin.Hash(binary)}
	case e.Key == "":
		return nil
	}
	_, err = checkSignature(e.Key, e.Signature, binary)
	return err
}

func (e Installed) now() Installed {
	e.Time = time.Now().UTC().Truncate(time.Second)
	return e
}

// keep writes the file of a plugin. The caller holds the lock of all writers.
func (s *Store) keep(e Installed, binary []byte) error {
	if got := plugin.Hash(binary); got != e.SHA256 || int64(len(binary)) != e.Size {
		return fmt.Errorf("the bytes have sha256 %s, and not that of the entry", got)
	}
	if err := s.files.Claim(); err != nil {
		return err
	}
	return s.files.Write(e.SHA256+suffix, binary)
}

// change edits the entries under the lock of all writers. If edit fails, nothing changes.
func (s *Store) change(ctx context.Context, edit func([]Installed) ([]Installed, error)) error {
	if err := s.dir.Claim(); err != nil {
		return lockError(err)
	}
	lock := s.dir.Flock(flockName)
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
			err = s.dir.Write(lockName, text)
		}
	}
	if err != nil {
		return fmt.Errorf("installed plugins: %w", err)
	}
	s.sweep(entries)
	return nil
}

// sweep removes the files that no entry names. It tries a file that cannot be removed again
// after the next change. The caller holds the lock.
func (s *Store) sweep(entries []Installed) {
	files, err := os.ReadDir(s.files.Dir)
	if err != nil {
		return
	}
	for _, f := range files {
		hash, ours := strings.CutSuffix(strings.TrimSuffix(f.Name(), ".new"), suffix)
		named := func(e Installed) bool { return f.Name() == e.SHA256+suffix || f.Name() == e.Former+suffix }
		if ours && hashPattern.MatchString(hash) && !slices.ContainsFunc(entries, named) {
			_ = os.Remove(s.files.Path(f.Name()))
		}
	}
}
