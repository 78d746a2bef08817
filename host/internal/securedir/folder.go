// Package securedir keeps files that belong to one user and are shared by several of their
// processes. The folder is readable for no other user and accepted only in the state in which this
// package leaves it. Files are replaced as a whole and guarded by locks.
//
// A file is written under another name, synced and renamed, and then the folder is
// synced. So readers take no lock, and a crash leaves the old file or the new one. A
// file that is a link, or that others can read, is an error that says what to do; it is
// never read or overwritten.
//
// On Windows the folder is as private as the profile that contains it: owners and modes
// are not checked, and folders are not synced. Locks hold on local file systems; on
// network file systems they may not.
package securedir

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

// Folder is a folder of such files. Any goroutine may call its methods; the caller of Write must
// hold a lock.
type Folder struct {
	Dir string
	FS  FileSystem // [OS], except in tests
}

// In returns the folder with that name. It does not touch the disk.
func In(dir string) *Folder { return &Folder{Dir: dir, FS: OS{}} }

// FileSystem has the calls to the operating system that a write makes, so that a test
// can end the process, or fail a call, between any two of them.
type FileSystem interface {
	Create(path string) (File, error) // of a new file, for the user alone
	Rename(from, to string) error
	SyncFolder(path string) error
}

// File is a new file that is open for writing. The caller closes it.
type File interface {
	io.WriteCloser
	Sync() error
}

// OS is the file system of the operating system.
type OS struct{}

// Create implements [FileSystem].
func (OS) Create(path string) (File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|noFollow, fileMode)
}

// Path returns the path of a file in the folder, whether or not it exists.
func (f *Folder) Path(name string) string { return filepath.Join(f.Dir, name) }

// Flock returns a lock between processes: an empty file of the folder, not yet locked. Claim the
// folder before locking it. The file is never removed, because a process that waits for it would
// then lock a file that no other process can find.
func (f *Folder) Flock(name string) *flock.Flock {
	return flock.New(f.Path(name), flock.SetFlag(lockFlags), flock.SetPermissions(fileMode))
}

// Claim makes the folder if it is missing, and refuses one that other users can read or
// write.
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

// make makes a folder and those above it, and syncs each. Otherwise a loss of power could take away
// a folder together with the files in it.
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
	return f.FS.SyncFolder(above)
}

func (f *Folder) inspect() error {
	info, err := os.Lstat(f.Dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder, and links are refused: remove it", f.Dir)
	}
	return checkPrivate(f.Dir, info, folderMode)
}

// Read returns the content of a file of at most limit bytes. The checks are made on the
// open file, so that they hold for what is read. A missing file is an [fs.ErrNotExist].
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
	if err := checkPrivate(path, info, fileMode); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(h, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes, which this program does not write: move it away", path, limit)
	}
	return text, err
}

// explainLink replaces the operating system's error for a link, which speaks of too many levels or
// of a file type.
func explainLink(path string, err error) error {
	if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a link, and links are refused: remove it", path)
	}
	return err
}

// Write replaces a file, and returns once the new content would survive a loss of power. The caller
// holds the write lock, so a file that is already named ".new" was left by a killed process.
func (f *Folder) Write(name string, text []byte) error {
	path := f.Path(name)
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := f.fill(fresh, text)
	if err == nil {
		err = f.FS.Rename(fresh, path)
	}
	if err != nil {
		_ = os.Remove(fresh) // it may not exist
		return err
	}
	return f.FS.SyncFolder(f.Dir)
}

// fill writes and syncs a file before it gets its name: otherwise a file system may
// keep the name and lose the content.
func (f *Folder) fill(path string, text []byte) error {
	h, err := f.FS.Create(path)
	if err != nil {
		return err
	}
	_, err = h.Write(text)
	if err == nil {
		err = h.Sync()
	}
	return errors.Join(err, h.Close())
}
