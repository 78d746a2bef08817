package tomledit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/securedir"
)

// ErrChanged is returned by [File.Write] if the file has changed since it was read.
var ErrChanged = errors.New("it was changed meanwhile; run the command again")

// File is a configuration in TOML as it was read.
type File struct {
	Path string // as it was given
	Text []byte // nil where there is no file
	Read *config.File

	target string // where it is, behind links
	mode   fs.FileMode
}

// Open reads a configuration, strictly. A file that does not exist reads as empty.
func Open(path string) (*File, error) {
	f := &File{Path: path, target: path, mode: 0o600}
	const ownFile = "is only read; name a wharf.toml, into which import copies the servers of other clients"
	if other := map[string]string{".json": "JSON", ".jsonc": "JSON", ".yaml": "YAML", ".yml": "YAML", ".xml": "XML"}[strings.ToLower(filepath.Ext(path))]; other != "" {
		return nil, fmt.Errorf("%s is %s, as other clients have it, and "+ownFile, path, other)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		f.target = target
	}
	info, err := os.Stat(f.target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Read = &config.File{Path: path}
		return f, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	}
	f.mode = info.Mode().Perm()
	if f.Read, err = config.Read(path); err != nil { // which bounds its size
		return nil, err
	}
	if f.Read.Client != "" {
		return nil, fmt.Errorf("%s is a file of %s, and "+ownFile, path, f.Read.Client)
	}
	if f.Text, err = os.ReadFile(f.target); err != nil {
		return nil, err
	}
	f.Read, err = config.Parse(path, f.Text)
	return f, err
}

// Write replaces the file as a whole, after reading its new text as strictly as the old one. It
// takes a lock that keeps other processes from writing the file. It returns [ErrChanged] if the
// file has changed since it was read. Links to the file stay links, and it keeps its mode.
func (f *File) Write(ctx context.Context, text []byte) error {
	return f.locked(ctx, func() error {
		if to, link := os.Readlink(f.target); link == nil { // Open has found nothing behind it, as where a disk is not mounted
			return fmt.Errorf("%s is a link to %s, which is not there; make that file, or remove the link", f.Path, to)
		}
		return f.replace(text)
	})
}

// maxRewrites is how often a change is made again because an editor, which takes no lock, has written the file.
const maxRewrites = 5

// Rewrite is [File.Write] for a change that depends on the newest text. It takes the lock, reads
// the file into f, and calls change, which returns the new text. It does so again if the file has
// changed since.
func (f *File) Rewrite(ctx context.Context, change func() ([]byte, error)) error {
	return f.locked(ctx, func() (err error) {
		for range maxRewrites {
			if err = f.rewrite(change); !errors.Is(err, ErrChanged) {
				break
			}
		}
		return err
	})
}

func (f *File) rewrite(change func() ([]byte, error)) error {
	now, err := Open(f.Path)
	if err != nil {
		return err
	}
	if now.target != f.target { // whose lock is another one
		return fmt.Errorf("%s: %w", f.Path, ErrChanged)
	}
	*f = *now
	text, err := change()
	if err != nil {
		return err
	}
	return f.replace(text)
}

// unchanged returns [ErrChanged] if the file has changed since it was read.
func (f *File) unchanged() error {
	current, err := os.ReadFile(f.target)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case !bytes.Equal(current, f.Text) || (err != nil) != (f.Text == nil):
		return fmt.Errorf("%s: %w", f.Path, ErrChanged)
	}
	return nil
}

// locked calls write while no other process writes the file.
func (f *File) locked(ctx context.Context, write func() error) error {
	if f.mode&0o200 == 0 {
		return fmt.Errorf("%s is read-only", f.Path)
	}
	dir, name := filepath.Dir(f.target), filepath.Base(f.target)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	lock := securedir.In(dir).Flock("." + name + ".lock")
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return fmt.Errorf("lock %s: %w", f.Path, err)
	}
	defer lock.Unlock()
	return write()
}

// replace writes the text under another name and renames that file, so that a crash leaves the
// old file or the new one. The caller holds the lock, so an existing file of the other name was
// left by a process that was killed. It returns [ErrChanged] if the file has changed since it was read.
func (f *File) replace(text []byte) error {
	read, err := config.Parse(f.Path, text)
	if err != nil {
		return fmt.Errorf("the result could not be read: %w", err)
	}
	system := securedir.OS{}
	fresh := f.target + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	h, err := system.Create(fresh)
	if err != nil {
		return err
	}
	_, err = h.Write(text)
	if err == nil {
		err = h.Sync()
	}
	err = errors.Join(err, h.Close())
	if err == nil {
		err = os.Chmod(fresh, f.mode)
	}
	if err == nil {
		err = f.unchanged() // last of all: an editor takes no lock, and what it has written meanwhile would be lost
	}
	if err == nil {
		err = system.Rename(fresh, f.target)
	}
	if err != nil {
		_ = os.Remove(fresh) // it may not be there
		return err
	}
	if err := system.SyncFolder(filepath.Dir(f.target)); err != nil {
		return err
	}
	f.Text, f.Read = text, read
	return nil
}
