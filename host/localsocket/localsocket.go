// Package localsocket connects programs of one user on one machine over unix sockets. The folder of a
// socket is one that no other user can reach, and the uid at the other end is checked too. There are
// such sockets on Linux and macOS only, which say whose program connects.
package localsocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/wharf-mcp/wharf/host/internal/securedir"
)

// ErrNoListener is the error of [Dial] for a socket at which no program listens.
var ErrNoListener = errors.New("no program listens at the socket")

// ErrServed is in the error of [Listen] for a socket at which another program listens.
var ErrServed = errors.New("another program of yours serves clients")

// Listen listens at a socket for programs of this user. It makes the folder of the socket if it is
// missing, and returns an error if another user can reach the folder. It replaces a socket that an
// earlier program left, and returns [ErrServed] if a program listens there. The listener closes
// connections of other users and does not return them. The caller closes the listener, which removes
// the socket.
func Listen(path string) (net.Listener, error) {
	folder, path, err := claim(path)
	if err != nil {
		return nil, err
	}
	lock := folder.Flock(filepath.Base(path) + ".lock") // for as long as the socket is served
	locked, err := lockUnserved(lock, path)
	if err == nil && !locked {
		err = fmt.Errorf("%w at %s", ErrServed, path)
	}
	if err != nil {
		return nil, err
	}
	l, err := listenLocked(path)
	if err != nil {
		lock.Unlock()
		return nil, err
	}
	return &socket{l, lock}, nil
}

// lockUnserved takes the lock of a socket, or returns false if a program listens there. A program that is
// ending, or was killed, may stop to listen before it has given up the lock: that is waited for.
func lockUnserved(lock *flock.Flock, path string) (locked bool, err error) {
	const attempts, pause = 200, 5 * time.Millisecond
	for range attempts {
		if locked, err = lock.TryLock(); locked || err != nil {
			return locked, err
		}
		if c, err := net.Dial("unix", path); err == nil {
			return false, c.Close()
		}
		time.Sleep(pause)
	}
	return false, nil
}

// Dial connects to a program of this user that listens at a socket. It returns an error if another user
// can reach the folder of the socket or listens there, and [ErrNoListener] if no program listens.
func Dial(ctx context.Context, path string) (*net.UnixConn, error) {
	_, path, err := claim(path)
	if err != nil {
		return nil, err
	}
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("%s: %w", path, ErrNoListener)
	case err != nil:
		return nil, err
	}
	conn := c.(*net.UnixConn)
	if uid, err := peerUser(conn); err != nil || uid != os.Geteuid() {
		conn.Close()
		return nil, fmt.Errorf("a program of another user listens at %s", path)
	}
	return conn, nil
}

// Lock locks the file at path, in a folder that no other user can reach, against other processes. It
// waits until it has the lock or ctx ends. The end of the process unlocks the file too.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	folder, path, err := claim(path)
	if err != nil {
		return nil, err
	}
	lock := folder.Flock(filepath.Base(path))
	const retry = 5 * time.Millisecond
	if _, err := lock.TryLockContext(ctx, retry); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { lock.Unlock() }, nil
}

// claim returns the folder of a path, which is made if it is missing, and the absolute path.
func claim(path string) (folder *securedir.Folder, absolute string, err error) {
	absolute, err = filepath.Abs(path)
	switch {
	case err != nil:
		return nil, "", err
	case maxSocketPath == 0:
		return nil, "", errors.New("a unix socket is served on Linux and macOS alone, which say whose program connects: use HTTP here")
	case len(absolute) > maxSocketPath:
		return nil, "", fmt.Errorf("%s has %d bytes, and the path of a socket may have %d: name a shorter one", absolute, len(absolute), maxSocketPath)
	}
	folder = securedir.In(filepath.Dir(absolute))
	if err := folder.Claim(); err != nil {
		return nil, "", fmt.Errorf("the folder of the socket: %w", err)
	}
	return folder, absolute, nil
}

// listenLocked removes a socket at which no program listens any more, and listens there. The caller
// has the lock of the socket.
func listenLocked(path string) (*net.UnixListener, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is no socket: remove it, or name another path", path)
	default:
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
			return nil, fmt.Errorf("another program listens at %s: name another path", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// socket is a listener that returns only connections of this user.
type socket struct {
	*net.UnixListener
	lock *flock.Flock
}

// Accept implements [net.Listener].
func (s *socket) Accept() (net.Conn, error) {
	for {
		c, err := s.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if uid, err := peerUser(c); err == nil && uid == os.Geteuid() {
			return c, nil
		}
		c.Close()
	}
}

// Close implements [net.Listener]. It releases the lock last, because a program that has the lock
// may replace the socket.
func (s *socket) Close() error {
	return errors.Join(s.UnixListener.Close(), s.lock.Unlock())
}
