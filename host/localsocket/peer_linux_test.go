package localsocket_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wharf-mcp/wharf/host/localsocket"
)

// A program of another user is not served, even where it can reach the socket.
func TestSocketOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir := filepath.Join(shortDir(t), "d")
	path := filepath.Join(dir, "s")
	l := listen(t, path)
	open := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.Chmod(path, 0o666))
	if open != nil {
		t.Fatal(open)
	}
	accepted := make(chan net.Conn, 2)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	if err := asAnother(func() error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
			return err
		}
		if n, err := unix.Read(fd, make([]byte, 1)); n != 0 || err != nil && err != unix.ECONNRESET {
			return errors.New("the connection was not closed")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	own, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	(<-accepted).Close()
	if len(accepted) > 0 {
		t.Error("the other user was served")
	}
}

// asAnother runs do as the user 65534, on a thread that ends with it.
func asAnother(do func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is of no further use
		if _, _, no := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); no != 0 {
			result <- no
			return
		}
		result <- do()
	}()
	return <-result
}

// A socket of another user is not used, even where its folder is the user's own.
func TestDialAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir := filepath.Join(shortDir(t), "d")
	path := filepath.Join(dir, "s")
	l := listen(t, path)
	defer l.Close()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other")
	var fd int
	if err := asAnother(func() (err error) {
		if fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err == nil {
			err = errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: other}), unix.Listen(fd, 1))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if c, err := localsocket.Dial(t.Context(), other); err == nil || !strings.Contains(err.Error(), "another user listens") {
		t.Error(c, err)
	}
}
