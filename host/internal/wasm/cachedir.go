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
	"sync"
)

// cacheDir keeps metered modules on disk, and names the folder where wazero keeps
// native code. Both become code of the host, so only this user may write to the
// folders. A nil cacheDir keeps nothing.
//
// An entry is the SHA-256 of the metered form, then the metered form. Entries
// are named by everything they depend on: the original, the version of the
// meter, its budget, and the limits the original was held against.
type cacheDir struct {
	metered, native string
	suffix          string
}

// maxCacheFile is the size in bytes of the largest file that is read from a cache folder.
const maxCacheFile = 64 << 20

func openCacheDir(dir string, limits Limits, budget int64) (*cacheDir, error) {
	depends := sha256.Sum256(fmt.Appendf(nil, "%s %+v %d %d", meterVersion, limits, budget, StackBudget))
	s := &cacheDir{
		metered: filepath.Join(dir, "metered"),
		native:  filepath.Join(dir, "native"),
		suffix:  "-" + hex.EncodeToString(depends[:4]) + ".wasm",
	}
	for _, d := range []string{dir, s.metered, s.native} {
		if err := ownFolder(d); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// ownFolder makes dir if it is missing, and refuses it if another user could have
// written to it.
func ownFolder(dir string) error {
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
	case !ownedAlone(info):
		return fmt.Errorf("%s can be written by others (mode %v) or belongs to someone else; what is in it would run as this program: chmod 700 it, or name another", dir, info.Mode().Perm())
	}
	return nil
}

// get returns the metered form of the module with that hash. A damaged entry counts as missing, and
// the next put replaces it.
func (c *cacheDir) get(hash string) ([]byte, bool) {
	if c == nil {
		return nil, false
	}
	entry, err := readUpTo(c.path(hash), maxCacheFile)
	if err != nil || len(entry) < sha256.Size {
		return nil, false
	}
	sum, metered := entry[:sha256.Size], entry[sha256.Size:]
	if got := sha256.Sum256(metered); !bytes.Equal(sum, got[:]) {
		return nil, false
	}
	return metered, true
}

// readUpTo reads a file. A file with more than most bytes is an error.
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

// put stores a metered form. It reports no failure, because the module is then metered again.
func (c *cacheDir) put(hash string, metered []byte) {
	if c == nil {
		return
	}
	f, err := os.CreateTemp(c.metered, "new-*")
	if err != nil {
		return
	}
	sum := sha256.Sum256(metered)
	_, err = f.Write(sum[:])
	if err == nil {
		_, err = f.Write(metered)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), c.path(hash))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
}

func (c *cacheDir) path(hash string) string { return filepath.Join(c.metered, hash+c.suffix) }

// CheckCache returns an error if nothing can be kept in dir. It makes dir if it is missing, as an
// Engine does.
func CheckCache(dir string) error {
	c, err := openCacheDir(dir, Limits{}, 0)
	if err != nil {
		return err
	}
	for _, d := range []string{c.metered, c.native} {
		f, err := os.CreateTemp(d, "new-*")
		if err != nil {
			return err
		}
		if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// onceUnavailable returns a function that calls call, once, with the reason why the cache cannot be
// written to, such as a full disk. call may be nil. Modules still run, and are compiled again next
// time.
func onceUnavailable(call func(error)) func(error) {
	var once sync.Once
	return func(err error) {
		if call != nil {
			once.Do(func() { call(fmt.Errorf("plugin cache: %w", err)) })
		}
	}
}

// isFileError reports whether err comes from the file system. All other errors are
// about the module, or about who may write to the folder.
func isFileError(err error) bool {
	return errors.As(err, new(*fs.PathError)) || errors.As(err, new(*os.LinkError))
}
