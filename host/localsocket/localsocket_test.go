//go:build linux || darwin

package localsocket_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/host/localsocket"
)

// shortDir returns a new folder whose path leaves room for that of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func listen(t *testing.T, path string) net.Listener {
	t.Helper()
	l, err := localsocket.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestSocketIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), "above", "mine", "s")
	l := listen(t, path)
	for path, want := range map[string]fs.FileMode{path: 0o600 | fs.ModeSocket, filepath.Dir(path): 0o700 | fs.ModeDir} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	go func() {
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
		}
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	l.Close()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Close: %v", err)
	}
}

// A socket at which no program listens is replaced; all else that is there is left alone.
func TestSocketInTheWay(t *testing.T) {
	t.Parallel()
	leave := func(path string) *net.UnixListener {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		return l
	}
	for name, tc := range map[string]struct {
		put  func(path string) error
		says string // "" is no error
	}{
		"a stale socket": {func(path string) error { return leave(path).Close() }, ""},
		"a socket of another program": {func(path string) error {
			l := leave(path)
			t.Cleanup(func() { l.Close() })
			return nil
		}, "another program listens at"},
		"a file":                {func(path string) error { return os.WriteFile(path, nil, 0o600) }, "is no socket"},
		"a link":                {func(path string) error { return os.Symlink("/nowhere", path) }, "is no socket"},
		"a folder that is open": {func(path string) error { return os.Chmod(filepath.Dir(path), 0o755) }, "run chmod 700"},
		"a link to the folder": {func(path string) error {
			dir := filepath.Dir(path)
			return errors.Join(os.Rename(dir, dir+"2"), os.Symlink(dir+"2", dir))
		}, "links are refused"},
	} {
		dir := filepath.Join(shortDir(t), "d")
		path := filepath.Join(dir, "s")
		if err := errors.Join(os.Mkdir(dir, 0o700), tc.put(path)); err != nil {
			t.Fatal(err)
		}
		l, err := localsocket.Listen(path)
		if err == nil {
			l.Close()
		}
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v; want %q", name, err, tc.says)
		}
		if _, err := os.Lstat(path); tc.says == "is no socket" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := localsocket.Listen("/tmp/wharf-test.sock"); err == nil || !strings.Contains(err.Error(), "use one of your own") && !strings.Contains(err.Error(), "links are refused") {
		t.Errorf("in a folder of all users: %v", err)
	}
}

func TestSocketWithALongPath(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), strings.Repeat("x", 100))
	if _, err := localsocket.Listen(path); err == nil || !strings.Contains(err.Error(), "name a shorter one") {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// Of several programs that listen at one path, one does; another can when that has ended.
func TestSocketOfSeveralPrograms(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), "s")
	var running sync.WaitGroup
	won := make(chan net.Listener, 8)
	for range cap(won) {
		running.Go(func() {
			l, err := localsocket.Listen(path)
			if err == nil {
				won <- l
			} else if !strings.Contains(err.Error(), "another program of yours serves clients at") {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if len(won) != 1 {
		t.Fatalf("%d listen", len(won))
	}
	(<-won).Close()
	listen(t, path)
}

func TestDial(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(shortDir(t), "d")
	path := filepath.Join(dir, "s")
	if _, err := localsocket.Dial(t.Context(), path); !errors.Is(err, localsocket.ErrNoListener) {
		t.Errorf("no socket: %v", err)
	}
	l := listen(t, path)
	c, err := localsocket.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := os.Link(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := localsocket.Dial(t.Context(), path+"2"); !errors.Is(err, localsocket.ErrNoListener) {
		t.Errorf("a stale socket: %v", err)
	}
	for _, tc := range []struct {
		says string
		do   func() error
	}{
		{"run chmod 700", func() error { return os.Chmod(dir, 0o770) }},
		{"links are refused", func() error {
			return errors.Join(os.Chmod(dir, 0o700), os.Rename(dir, dir+"2"), os.Symlink(dir+"2", dir))
		}},
	} {
		says := tc.says
		if err := tc.do(); err != nil {
			t.Fatal(err)
		}
		if _, err := localsocket.Dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
		if _, err := localsocket.Lock(t.Context(), path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("lock: %v; want %q", err, says)
		}
	}
}

// A lock is waited for, until the context ends.
func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), "l")
	unlock, err := localsocket.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := localsocket.Lock(ctx, path); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	locked := make(chan error)
	go func() {
		unlock, err := localsocket.Lock(t.Context(), path)
		if err == nil {
			unlock()
		}
		locked <- err
	}()
	unlock()
	if err := <-locked; err != nil {
		t.Error(err)
	}
}

// A program that has stopped to listen, and holds the lock for a moment more, is waited for.
func TestListenBehindOneThatEnds(t *testing.T) {
	t.Parallel()
	for range 20 {
		path := filepath.Join(shortDir(t), "s")
		unlock, err := localsocket.Lock(t.Context(), path+".lock")
		if err != nil {
			t.Fatal(err)
		}
		listening := make(chan error)
		go func() {
			l, err := localsocket.Listen(path)
			if err == nil {
				l.Close()
			}
			listening <- err
		}()
		runtime.Gosched()
		unlock()
		if err := <-listening; err != nil {
			t.Fatal(err)
		}
	}
}
