package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/internal/certtest"
)

// pipes is a listener at which each dial is accepted at once.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p pipes) Addr() net.Addr { return new(net.TCPAddr) }
func (p pipes) Close() error   { close(p.closed); return nil }

// dial connects, and reports on done when the other side has closed the connection, with what it has said.
func (p pipes) dial() (c net.Conn, done chan string) {
	c, theirs := net.Pipe()
	p.accepted <- theirs
	done = make(chan string, 1)
	go func() {
		said, _ := io.ReadAll(c)
		done <- string(said)
	}()
	synctest.Wait()
	return c, done
}

// open reports whether a connection is open.
func open(done chan string) bool {
	synctest.Wait()
	return len(done) == 0
}

// serveStrangers serves clients with the header Who, in the bubble of a test.
func serveStrangers(t *testing.T, secure bool) pipes {
	l := pipes{make(chan net.Conn), make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	find := LetIn(func(r *http.Request) (string, error) {
		if who := r.Header.Get("Who"); who != "" {
			return who, nil
		}
		return "", errors.New("unknown")
	})
	var config *tls.Config
	if secure {
		config = &tls.Config{Certificates: []tls.Certificate{certtest.New().IssueLocal()}}
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		Serve(ctx, l, config, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := find(r); err != nil {
				w.WriteHeader(http.StatusUnauthorized)
			}
		}), func() {})
	}()
	t.Cleanup(func() { cancel(); <-over })
	return l
}

// Of the connections of which no request was let in, so many stay open; the oldest goes first, also one that
// was answered with 401. A connection of a known client stays.
func TestStrangersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := serveStrangers(t, false)
		known, knownDone := l.dial()
		io.WriteString(known, "GET / HTTP/1.1\r\nHost: a\r\nWho: me\r\n\r\n")
		synctest.Wait()
		refused, refusedDone := l.dial()
		io.WriteString(refused, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		synctest.Wait()
		left, leftDone := l.dial()
		left.Close() // it makes room
		if open(leftDone) {
			t.Error("it is open")
		}
		var silent []chan string
		for range maxStrangers - 1 {
			_, done := l.dial()
			silent = append(silent, done)
		}
		if !open(refusedDone) {
			t.Error("a connection was closed while there was room")
		}
		_, last := l.dial()
		time.Sleep(strangerTime) // of the bubble's clock
		if open(refusedDone) || !strings.HasPrefix(<-refusedDone, "HTTP/1.1 401") {
			t.Error("the oldest stranger is open")
		}
		l.dial()
		time.Sleep(strangerTime)
		if open(silent[0]) || !open(silent[1]) || !open(last) || !open(knownDone) {
			t.Errorf("open are the second stranger %t, the third %t, the last %t, the known one %t", open(silent[0]), open(silent[1]), open(last), open(knownDone))
		}
		io.WriteString(known, "GET / HTTP/1.1\r\nHost: a\r\nWho: me\r\nConnection: close\r\n\r\n")
		if said := <-knownDone; strings.Count(said, "200 OK") != 2 {
			t.Errorf("the known client is answered %q", said)
		}
	})
}

// Clients that all connect at once are all answered: a connection waits until those before it were let in.
func TestManyClientsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := serveStrangers(t, false)
		const clients = maxStrangers + 2
		said := make(chan string, clients)
		ask := make(chan struct{})
		for range clients {
			c, theirs := net.Pipe()
			go func() { l.accepted <- theirs }()
			go func() {
				<-ask
				io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nWho: me\r\nConnection: close\r\n\r\n")
				text, _ := io.ReadAll(c)
				said <- string(text)
			}()
		}
		synctest.Wait()
		close(ask)
		for range clients {
			if text := <-said; !strings.HasPrefix(text, "HTTP/1.1 200") {
				t.Fatalf("a client is answered %q", text)
			}
		}
	})
}

// A client has ten seconds for the headers of a request and for a handshake of TLS, however it spends them.
func TestSlowStrangers(t *testing.T) {
	for name, secure := range map[string]bool{"headers": false, "handshake": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := serveStrangers(t, secure)
				hello := "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("A: b\r\n", 100)
				if secure {
					hello = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("x", 400)
				}
				silent, silentDone := l.dial()
				defer silent.Close()
				begun := time.Now()
				slow, slowDone := l.dial()
				for at := 0; open(slowDone) && at < len(hello); at++ {
					slow.Write([]byte{hello[at]})
					time.Sleep(500 * time.Millisecond)
				}
				<-slowDone
				<-silentDone
				if took := time.Since(begun); took > 11*time.Second {
					t.Errorf("it was listened to for %v", took)
				}
			})
		})
	}
}

// duplex is a connection whose directions end apart, as those of TCP do.
type duplex struct {
	net.Conn
	out net.Conn
}

func (d duplex) Write(b []byte) (int, error)        { return d.out.Write(b) }
func (d duplex) CloseWrite() error                  { return d.out.Close() }
func (d duplex) Close() error                       { return errors.Join(d.out.Close(), d.Conn.Close()) }
func (d duplex) SetWriteDeadline(t time.Time) error { return d.out.SetWriteDeadline(t) }
func (d duplex) SetDeadline(t time.Time) error {
	return errors.Join(d.Conn.SetDeadline(t), d.out.SetDeadline(t))
}

// A client without a certificate can send its request, and then learns that it needs one. It is not listened to for
// longer than a moment, nor for more than so much.
func TestFailedHandshakeIsTold(t *testing.T) {
	authority, dir := certtest.New(), t.TempDir()
	cert, key := certtest.WriteTo(dir, "server", authority.IssueLocal())
	config, err := TLS(cert, key, authority.WriteTo(dir))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		l := pipes{make(chan net.Conn), make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			Serve(ctx, l, config, http.NotFoundHandler(), func() {})
		}()
		defer func() { cancel(); <-over }()
		in, theirOut := net.Pipe()
		theirIn, out := net.Pipe()
		l.accepted <- duplex{theirIn, theirOut}
		client := tls.Client(duplex{in, out}, &tls.Config{InsecureSkipVerify: true})
		if err := client.Handshake(); err != nil {
			t.Fatal(err)
		}
		answer := make(chan error, 1)
		go func() {
			_, err := client.Read(make([]byte, 1))
			answer <- err
		}()
		synctest.Wait() // the server has refused it
		begun := time.Now()
		if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Errorf("the request: %v", err)
		}
		if err := <-answer; err == nil || !strings.Contains(err.Error(), "certificate required") {
			t.Errorf("the answer: %v", err)
		}
		sent := 0
		for err := error(nil); err == nil; {
			_, err = out.Write(make([]byte, 1<<10))
			sent++
		}
		if took := time.Since(begun); sent > maxUnread>>10+1 || took > strangerTime {
			t.Errorf("%d KB were read, for %v", sent, took)
		}
	})
}
