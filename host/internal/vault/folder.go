package vault

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	fileMode   = 0o600
	folderMode = 0o700
)

// folder is where the files are, and how they are read and replaced.
type folder struct {
	dir  string
	disk disk
}

// disk is what a write asks of the operating system. It is here so that a test
// can end a process, or fail a call, between any two of them.
type disk interface {
	create(path string) (file, error) // that was not there, for the user alone
	rename(from, to string) error
	syncFolder(path string) error
}

// file is what has been created.
type file interface {
	io.WriteCloser
	Sync() error
}

// system is the disk of the operating system.
type system struct{}

func (system) create(path string) (file, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|noFollow, fileMode)
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// claim makes the folder if it is missing, and refuses one in which anybody else
// could read, or could have put something.
func (f *folder) claim() error {
	err := f.inspect()
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := f.make(f.dir); err != nil {
		return err
	}
	return f.inspect()
}

// make makes a folder and those above it, and syncs each to the disk: a record
// is not safe in a folder that is not.
func (f *folder) make(dir string) error {
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
	return f.disk.syncFolder(above)
}

func (f *folder) inspect() error {
	info, err := os.Lstat(f.dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder, and links are refused: remove it", f.dir)
	}
	return private(f.dir, info, folderMode)
}

// read returns what a file holds. The checks are made on the open file, so that
// they hold for what is read. A file that is not there is an error that says so.
func (f *folder) read(name string, limit int64) ([]byte, error) {
	if err := f.inspect(); err != nil {
		return nil, err
	}
	path := f.path(name)
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

// write replaces a file, and returns when the new one would outlive a loss of
// power. The caller holds the write lock, so that there is one ".new" and what
// lies under that name is the remains of a process that was killed.
func (f *folder) write(name string, text []byte) error {
	path := f.path(name)
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := f.fill(fresh, text)
	if err == nil {
		err = f.disk.rename(fresh, path)
	}
	if err != nil {
		_ = os.Remove(fresh) // it may not be there
		return err
	}
	return f.disk.syncFolder(f.dir)
}

// fill syncs before the file gets its name: a file system may else remember the
// name and not what is in the file.
func (f *folder) fill(path string, text []byte) error {
	h, err := f.disk.create(path)
	if err != nil {
		return err
	}
	_, err = h.Write(text)
	if err == nil {
		err = h.Sync()
	}
	return errors.Join(err, h.Close())
}
