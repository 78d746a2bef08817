// Package private keeps files that are a user's alone, and that several processes
// share: in a folder that nobody else may look into, read only if they are as
// this package leaves them, replaced as a whole, and guarded by locks.
//
// A file is written beside, synced, renamed, and the folder synced. So readers
// take no lock, and what a crash leaves is the old file or the new one. A file
// that is a link, or open to others, is an error that says what to do; it is never
// read or written over.
//
// On Windows the folder is as private as the profile that it lies in: owners and
// modes are not looked at, and there is no syncing of folders. Locks hold on local
// file systems; what a network file system makes of them is its own affair.
package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

const (
	fileMode   = 0o600
	folderMode = 0o700
)

// Folder is where the files are, and how they are read and replaced. Its methods
// may be called from any goroutine; whoever calls Write holds a lock.
type Folder struct {
	Dir  string
	Disk Disk // [System], but for tests
}

// In returns the folder of that name. It touches nothing.
func In(dir string) *Folder { return &Folder{Dir: dir, Disk: System{}} }

// Disk is what a write asks of the operating system. It is here so that a test
// can end a process, or fail a call, between any two of them.
type Disk interface {
	Create(path string) (File, error) // that was not there, for the user alone
	Rename(from, to string) error
	SyncFolder(path string) error
}

// File is what has been created.
type File interface {
	io.WriteCloser
	Sync() error
}

// System is the disk of the operating system.
type System struct{}

// Create implements [Disk].
func (System) Create(path string) (File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|noFollow, fileMode)
}

// Path returns where a file of the folder is, whether or not it exists.
func (f *Folder) Path(name string) string { return filepath.Join(f.Dir, name) }

// Flock returns a lock between processes that is an empty file of the folder,
// not yet locked. The folder has to be claimed before it is. The file is never
// removed: who waits for it would lock one that nobody else can find.
func (f *Folder) Flock(name string) *flock.Flock {
	return flock.New(f.Path(name), flock.SetFlag(lockFlags), flock.SetPermissions(fileMode))
}

// Claim makes the folder if it is missing, and refuses one in which anybody else
// could read, or could have put something.
func (f *Folder) Claim() error {
	err := f.inspect()
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := f.make(f.Dir); err != nil {
		return err
	}
	return f.inspect()
}

// make makes a folder and those above it, and syncs each to the disk: a record
// is not safe in a folder that is not.
func (f *Folder) make(dir string) error {
	err := os.Mkdir(dir, folderMode)
	above := filepath.Dir(dir)
	if errors.Is(err, fs.ErrNotExist) && above != dir {
		if err := f.make(above); err != nil {
			return err
		}
		err = os.Mkdir(dir, folderMode)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return f.Disk.SyncFolder(above)
}

func (f *Folder) inspect() error {
	info, err := os.Lstat(f.Dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder, and links are refused: remove it", f.Dir)
	}
	return private(f.Dir, info, folderMode)
}

// Read returns what a file holds. The checks are made on the open file, so that
// they hold for what is read. A file that is not there is an error that says so.
func (f *Folder) Read(name string, limit int64) ([]byte, error) {
	if err := f.inspect(); err != nil {
		return nil, err
	}
	path := f.Path(name)
	h, err := openFile(path)
	if err != nil {
		return nil, explainLink(path, err)
	}
	defer h.Close()
	info, err := h.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: remove it", path)
	}
	if err := private(path, info, fileMode); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(h, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes, which this program does not write: move it away", path, limit)
	}
	return text, err
}

// explainLink says of a link that it is one: the error of the operating system
// speaks of too many levels, or of a file type.
func explainLink(path string, err error) error {
	if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a link, and links are refused: remove it", path)
	}
	return err
}

// Write replaces a file, and returns when the new one would outlive a loss of
// power. The caller holds the write lock, so that there is one ".new" and what
// lies under that name is the remains of a process that was killed.
func (f *Folder) Write(name string, text []byte) error {
	path := f.Path(name)
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := f.fill(fresh, text)
	if err == nil {
		err = f.Disk.Rename(fresh, path)
	}
	if err != nil {
		_ = os.Remove(fresh) // it may not be there
		return err
	}
	return f.Disk.SyncFolder(f.Dir)
}

// fill syncs before the file gets its name: a file system may else remember the
// name and not what is in the file.
func (f *Folder) fill(path string, text []byte) error {
	h, err := f.Disk.Create(path)
	if err != nil {
		return err
	}
	_, err = h.Write(text)
	if err == nil {
		err = h.Sync()
	}
	return errors.Join(err, h.Close())
}
