//go:build unix

package securedir

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

const (
	noFollow  = syscall.O_NOFOLLOW
	lockFlags = os.O_CREATE | os.O_RDWR | noFollow
)

// openFile opens a file for reading. If the file is a pipe, it does not wait for a writer.
func openFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|noFollow|syscall.O_NONBLOCK, 0)
}

// checkPrivate refuses a file or folder of another user, and one that others have any
// right to. It does not correct the mode: the user should know that it has been open.
func checkPrivate(path string, info fs.FileInfo, mode fs.FileMode) error {
	if info.IsDir() && info.Mode()&fs.ModeSticky != 0 {
		return fmt.Errorf("%s is a folder that all users share: use one of your own", path)
	}
	if owner, ours := info.Sys().(*syscall.Stat_t).Uid, os.Geteuid(); int(owner) != ours {
		return fmt.Errorf("%s belongs to the user %d, and this program runs as %d: run it as that user, or use another path", path, owner, ours)
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Errorf("%s is open to other users (mode %04o): run chmod %o %s", path, perm, mode, path)
	}
	return nil
}

// Rename implements [FileSystem].
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// SyncFolder implements [FileSystem].
func (OS) SyncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
