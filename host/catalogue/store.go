package catalogue

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/securedir"
)

// Bounds of a store.
const (
	maxFile  = 40 << 20 // bytes of a file: four lists of 8 MiB, and what a server says of itself
	maxFiles = 200      // servers; the file that was written longest ago is removed first
)

// refresh is the age at which a file is written anew although its lists are the same. The age
// that a caller shows may be wrong by as much.
const refresh = time.Hour

// Store keeps snapshots in a folder. Its methods may be called from any goroutine and
// from several processes. A nil Store keeps nothing.
type Store struct{ folder *securedir.Folder }

// Open returns the store in that folder, and nil for "". It does not touch the disk.
func Open(dir string) *Store {
	if dir == "" {
		return nil
	}
	return &Store{securedir.In(dir)}
}

const suffix = ".catalogue"

// Load returns what is known of an entry. The error is [fs.ErrNotExist] if nothing is known.
// After any other error the caller goes on as if nothing were known, and may warn.
func (s *Store) Load(key Key) (*Snapshot, error) {
	if s == nil {
		return nil, fs.ErrNotExist
	}
	text, err := s.folder.Read(string(key)+suffix, maxFile)
	if err != nil {
		return nil, err
	}
	snapshot, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.folder.Path(string(key)+suffix), err)
	}
	return snapshot, nil
}

// Save writes a snapshot in place of the last one. It writes nothing if that one says the same
// and is less than an hour old, or if the folder may not be written to. The latter is no error,
// because the server will say it all again. Divided stays as it was saved where the snapshot has
// none: another session of the same server may not know of it.
func (s *Store) Save(key Key, snapshot *Snapshot) error {
	if s == nil {
		return nil
	}
	if old, err := s.Load(key); err == nil {
		merged := *snapshot
		merged.Divided = cmp.Or(snapshot.Divided, old.Divided)
		if snapshot = &merged; old.says(snapshot) {
			return nil
		}
	}
	text, err := encode(snapshot)
	if err != nil {
		return err
	}
	err = s.locked(func() error {
		if err := s.folder.Write(string(key)+suffix, text); err != nil {
			return err
		}
		return s.tidy()
	})
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil
	}
	return err
}

// Remove forgets an entry. It is no error if nothing is known of it.
func (s *Store) Remove(key Key) error {
	if s == nil {
		return nil
	}
	err := os.Remove(s.folder.Path(string(key) + suffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// says reports whether a saved snapshot says the same as a newer one, and is younger than
// refresh.
func (s *Snapshot) says(newer *Snapshot) bool {
	said, err := json.Marshal(s.Info)
	says, err2 := json.Marshal(newer.Info)
	if err != nil || err2 != nil || s.Name != newer.Name || s.Divided != newer.Divided || !bytes.Equal(said, says) || !bytes.Equal(s.Info.Raw, newer.Info.Raw) || len(s.Lists) != len(newer.Lists) {
		return false
	}
	for kind, l := range newer.Lists {
		old, ok := s.Lists[kind]
		if !ok || !bytes.Equal(old.Items, l.Items) || l.Listed.Sub(old.Listed) > refresh {
			return false
		}
	}
	return true
}

// maxWait bounds how long a snapshot waits until another process has written. After it the
// snapshot is dropped: the next session asks the server again.
const maxWait = 2 * time.Second

// locked calls f while this process alone writes to the folder.
func (s *Store) locked(f func() error) (err error) {
	if err := s.folder.Claim(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	lock := s.folder.Flock("lock")
	switch _, err := lock.TryLockContext(ctx, 20*time.Millisecond); {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s is locked by another process: %w", s.folder.Dir, err)
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return f()
}

// tidy removes the oldest files where there are too many.
func (s *Store) tidy() error {
	found, err := os.ReadDir(s.folder.Dir)
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(f fs.DirEntry) bool { return !strings.HasSuffix(f.Name(), suffix) })
	if len(found) <= maxFiles {
		return nil
	}
	age := func(f fs.DirEntry) time.Time {
		info, err := f.Info()
		if err != nil {
			return time.Time{} // it was removed just now
		}
		return info.ModTime()
	}
	slices.SortFunc(found, func(a, b fs.DirEntry) int { return age(a).Compare(age(b)) })
	for _, f := range found[:len(found)-maxFiles] {
		if err := os.Remove(s.folder.Path(f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
