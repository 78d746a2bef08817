package securedir

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

const (
	noFollow  = 0
	lockFlags = os.O_CREATE | os.O_RDWR
)

// Windows replaces no file that is being read, and opens none that is being replaced. Virus
// scanners read every file. Both end soon, so operations are tried again.
const (
	attempts = 100
	pause    = 10 * time.Millisecond
)

func openFile(path string) (h *os.File, err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	err = insist(func() error {
		h, err = os.Open(path)
		return err
	})
	return h, err
}

// checkPrivate accepts everything: the folder inherits the access list of the profile.
func checkPrivate(string, fs.FileInfo, fs.FileMode) error { return nil }

// Rename implements [FileSystem].
func (OS) Rename(from, to string) error {
	return insist(func() error { return os.Rename(from, to) })
}

// SyncFolder does nothing: Windows keeps names in a journal of its own.
func (OS) SyncFolder(string) error { return nil }

func insist(call func() error) error {
	for range attempts {
		if err := call(); err == nil || errors.Is(err, fs.ErrNotExist) {
			return err
		}
		time.Sleep(pause)
	}
	return call()
}
