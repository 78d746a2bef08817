package wasm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// shelf keeps metered modules on disk, and names the folder where wazero keeps
// native code. Both become code of the host, so the folders must be ours alone.
// A nil shelf keeps nothing.
//
// An entry is the SHA-256 of the metered form, then the metered form. Entries
// are named by everything they depend on: the original, the version of the
// meter, its budget, and the limits the original was held against.
type shelf struct {
	metered, native string
	suffix          string
}

func openShelf(dir string, limits Limits, budget int64) (*shelf, error) {
	depends := sha256.Sum256(fmt.Appendf(nil, "%s %+v %d %d", meterVersion, limits, budget, StackBudget))
	s := &shelf{
		metered: filepath.Join(dir, "metered"),
		native:  filepath.Join(dir, "native"),
		suffix:  "-" + hex.EncodeToString(depends[:4]) + ".wasm",
	}
	for _, d := range []string{dir, s.metered, s.native} {
		if err := claim(d); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// claim makes dir if it is missing, and refuses it when anyone else could have
// put something in it.
func claim(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		info, err = os.Lstat(dir)
	}
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder (links are refused); remove it or name another", dir)
	case !private(info):
		return fmt.Errorf("%s can be written by others (mode %v) or belongs to someone else; what is in it would run as this program: chmod 700 it, or name another", dir, info.Mode().Perm())
	}
	return nil
}

// get returns the metered form of the module with that hash. A damaged entry
// counts as missing, and is replaced by the next put.
func (s *shelf) get(hash string) ([]byte, bool) {
	if s == nil {
		return nil, false
	}
	entry, err := readUpTo(s.path(hash), maxCacheFile)
	if err != nil || len(entry) < sha256.Size {
		return nil, false
	}
	sum, metered := entry[:sha256.Size], entry[sha256.Size:]
	if got := sha256.Sum256(metered); !bytes.Equal(sum, got[:]) {
		return nil, false
	}
	return metered, true
}

// readUpTo reads a file of at most so many bytes.
func readUpTo(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, fmt.Errorf("%s has more than %d bytes", path, most)
	}
	b := make([]byte, info.Size())
	_, err = io.ReadFull(f, b)
	return b, err
}

// put keeps a metered form. A shelf that cannot be written costs time later
// and nothing now, so failures are not reported.
func (s *shelf) put(hash string, metered []byte) {
	if s == nil {
		return
	}
	f, err := os.CreateTemp(s.metered, "new-*")
	if err != nil {
		return
	}
	sum := sha256.Sum256(metered)
	_, err = f.Write(sum[:])
	if err == nil {
		_, err = f.Write(metered)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), s.path(hash))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
}

func (s *shelf) path(hash string) string { return filepath.Join(s.metered, hash+s.suffix) }
