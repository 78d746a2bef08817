//go:build linux || darwin

package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/localsocket"
)

// newPlace returns a place in a new folder.
func newPlace(t *testing.T) Place {
	t.Helper()
	dir, err := os.MkdirTemp("", "dmn") // not t.TempDir, whose path may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return At(filepath.Join(dir, "d"), "build", "configuration")
}

// answering listens at a place, and answers each request with answer until the test ends.
func answering(t *testing.T, p Place, answer func(*Request) Answer) error {
	l, err := localsocket.Listen(p.Socket())
	if err != nil {
		return err
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if r, err := First(conn, time.Minute); err == nil && r != nil {
					Reply(conn, answer(r))
					io.Copy(conn, conn)
				}
			}()
		}
	}()
	return nil
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, other := range []Place{At(p.folder, "another build", "configuration"), At(p.folder, "build", "another"), At(p.folder, "buildc", "onfiguration")} {
		if other == p || other.Socket() == p.Socket() {
			t.Errorf("%v is at the place of another", other)
		}
	}
	if err := answering(t, p, func(*Request) Answer { return Answer{} }); err != nil {
		t.Fatal(err)
	}
	if all := All(p.folder); len(all) != 1 || all[0] != p {
		t.Errorf("found %v", all)
	}
}

// What follows the answer is the connection's own, and the deadline of the request does not count for it.
func TestConnection(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := answering(t, p, func(r *Request) Answer {
		if r.Server == "no" {
			return Answer{Refused: "because"}
		}
		return Answer{Era: r.Server}
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	conn, answer, err := p.Open(ctx, Request{Want: Join, Server: "legacy"})
	if err != nil || answer.Era != "legacy" {
		t.Fatal(answer, err)
	}
	defer conn.Close()
	cancel()
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := readLine(conn); string(line) != "hello" {
		t.Error(line, err)
	}
	var refused *RefusedError
	if _, err := p.Ask(t.Context(), Request{Want: Join, Server: "no"}); !errors.As(err, &refused) || refused.Why != "because" {
		t.Error(err)
	}
	if _, _, err := p.Open(ctx, Request{Want: Stay}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Of 20 programs that need the daemon at once, one starts it.
func TestOneIsStarted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var started atomic.Int32
	var running sync.WaitGroup
	for range 20 {
		running.Go(func() {
			if err := p.Ensure(t.Context(), func(context.Context) error {
				started.Add(1)
				return answering(t, p, func(*Request) Answer { return Answer{} })
			}); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if n := started.Load(); n != 1 {
		t.Errorf("%d were started", n)
	}
}

// A socket and a lock that a killed daemon has left are no obstacle.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	l, err := localsocket.Listen(p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	kept := p.Socket() + ".kept"
	if err := errors.Join(os.Link(p.Socket(), kept), l.Close(), os.Rename(kept, p.Socket())); err != nil {
		t.Fatal(err)
	}
	started := false
	if err := p.Ensure(t.Context(), func(context.Context) error {
		started = true
		return answering(t, p, func(*Request) Answer { return Answer{} })
	}); err != nil || !started {
		t.Error(started, err)
	}
}

// A daemon that ends before it answers is waited for, and another is started.
func TestOneThatLeaves(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	l, err := localsocket.Listen(p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		conn, err := l.Accept()
		l.Close()
		if err == nil {
			conn.Close()
		}
	}()
	if err := p.Ensure(t.Context(), func(context.Context) error {
		return answering(t, p, func(*Request) Answer { return Answer{} })
	}); err != nil {
		t.Error(err)
	}
}

// The error of a daemon that cannot start reaches the program that needs it.
func TestItDoesNotStart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	why := errors.New("why")
	if err := p.Ensure(t.Context(), func(context.Context) error { return why }); err != why {
		t.Error(err)
	}
	if err := p.Ensure(t.Context(), func(ctx context.Context) error {
		return p.Start(ctx, []string{"/bin/sh", "-c", "echo broken >&2; exit 3"}, "/")
	}); err == nil || !strings.Contains(err.Error(), "did not start: broken") {
		t.Error(err)
	}
	if text, err := os.ReadFile(p.Log()); string(text) != "broken\n" {
		t.Errorf("the log is %q, %v", text, err)
	}
}

// A daemon that hangs is not waited for longer than the caller wants.
func TestItHangs(t *testing.T) {
	t.Parallel()
	if patience != 15*time.Second {
		t.Errorf("it is waited for %v", patience)
	}
	p := newPlace(t)
	l, err := localsocket.Listen(p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("long enough")
	go func() {
		if conn, err := l.Accept(); err == nil {
			defer conn.Close()
			readLine(conn)
			cancel(why)
			io.Copy(io.Discard, conn)
		}
	}()
	if err := p.Ensure(ctx, func(context.Context) error { t.Error("another is started"); return nil }); err != why {
		t.Error(err)
	}
}

// pair returns both ends of a connection.
func pair(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	p := newPlace(t)
	l, err := localsocket.Listen(p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	theirs, err = localsocket.Dial(t.Context(), p.Socket())
	if err == nil {
		ours, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// The first byte tells programs of wharf from editors, in either framing, of whom nothing is read.
func TestFirst(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		`{"jsonrpc":"2.0"}`:                    "editor",
		"Content-Length: 2\r\n\r\n{}":          "editor",
		"\n":                                   "editor",
		`wharf-daemon {"want":"stay"}` + "\n{": "stay",
		"wharf-demon {}\n":                     "error",
		"wharf-daemon {\n":                     "error",
		"wharf-daemon ":                        "error",
		"wharf-daemon " + strings.Repeat("x", maxLine): "error",
		"": "error",
	} {
		ours, theirs := pair(t)
		if _, err := io.WriteString(theirs, said); err != nil {
			t.Fatal(err)
		}
		theirs.(*net.UnixConn).CloseWrite()
		r, err := First(ours, time.Minute)
		got := "editor"
		switch {
		case err != nil:
			got = "error"
		case r != nil:
			got = string(r.Want)
		}
		if got != want {
			t.Errorf("%.40q: %s, want %s; %v", said, got, want, err)
		}
		if rest, _ := io.ReadAll(ours); got == "editor" && string(rest) != said || got == "stay" && string(rest) != "{" {
			t.Errorf("%q: %q is left", said, rest)
		}
	}
}

// A client that does not say what it wants is not waited for.
func TestFirstStalls(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"", "wharf-dae"} {
		ours, theirs := pair(t)
		if _, err := io.WriteString(theirs, said); err != nil {
			t.Fatal(err)
		}
		if r, err := First(ours, time.Nanosecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: %v, %v", said, r, err)
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add("wharf-daemon {\"want\":\"join\",\"server\":\"s\",\"folder\":\"/\"}\nrest")
	f.Add("wharf-daemon {}")
	f.Fuzz(func(t *testing.T, text string) {
		from := strings.NewReader(text)
		r, err := readRequest(from)
		if (r == nil) == (err == nil) {
			t.Error("neither a request nor an error")
		}
		if line, rest, found := strings.Cut(text, "\n"); err == nil && (!found || from.Len() != len(rest) || !strings.HasPrefix(line, greeting)) {
			t.Errorf("a request was read from %q, and %d bytes are left", text, from.Len())
		}
	})
}
