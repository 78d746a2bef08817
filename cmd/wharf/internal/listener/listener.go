// Package listener is where the program listens for clients.
package listener

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// Set are the listeners of a program; nil where there is none.
type Set struct{ HTTP, Socket net.Listener }

// Close closes the listeners that are not nil.
func (s Set) Close() {
	for _, l := range []net.Listener{s.HTTP, s.Socket} {
		if l != nil {
			l.Close()
		}
	}
}

// Address returns an address to listen at, of a port, or of a host and a port, and whether other
// machines can reach it. A port alone is one of the loopback interface.
func Address(text string) (address string, elsewhere bool, err error) {
	if !strings.Contains(text, ":") {
		text = ":" + text
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", false, err
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return "", false, fmt.Errorf("there is no port %q", port)
	}
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	ip := net.ParseIP(host)
	return net.JoinHostPort(host, port), ip == nil || !ip.IsLoopback(), nil
}

// HTTP listens at what [Address] has returned. Port 0 is any that is free. The caller serves it with
// [Serve].
func HTTP(ctx context.Context, address string) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", address)
}

// Serve answers requests until ctx ends, and then calls end, which has to end the responses that
// would last. It closes the listener. With t, it speaks TLS. Clients have ten seconds for a handshake, and
// for the headers of a request. Of the connections without a request that [LetIn] has let in, 1,024 stay open, and each for
// a quarter of a second at least: others wait.
func Serve(ctx context.Context, l net.Listener, t *tls.Config, h http.Handler, end func()) error {
	l = &strangers{Listener: l, secure: t != nil, fewer: make(chan struct{}, 1)}
	s := &http.Server{
		Handler: h, TLSConfig: t, ConnContext: withStranger, ConnState: noteRequest, ErrorLog: log.New(faults{os.Stderr}, "", log.LstdFlags),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	over := make(chan error, 1)
	go func() {
		if t != nil {
			over <- s.ServeTLS(l, "", "")
			return
		}
		over <- s.Serve(l)
	}()
	select {
	case err := <-over:
		end()
		return err
	case <-ctx.Done():
	}
	end()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	s.Shutdown(late)
	s.Close()
	<-over
	return context.Cause(ctx)
}

// faults writes what a server of HTTP reports, but for handshakes that fail: each client that is not
// let in could write a line.
type faults struct{ to io.Writer }

func (f faults) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("http: TLS handshake error")) {
		return len(line), nil
	}
	return f.to.Write(line)
}

// Clients calls serve for each client that connects to l, on a goroutine of its own, until ctx ends.
// While most clients are served, it writes refusal to each further one and closes its connection. It
// closes l, and returns when all calls of serve have returned.
func Clients(ctx context.Context, l net.Listener, most int, refusal []byte, serve func(context.Context, io.ReadWriteCloser)) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	places := make(chan struct{}, most)
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return context.Cause(ctx)
		case err != nil:
			l.Close()
			return err
		}
		select {
		case places <- struct{}{}:
			running.Go(func() {
				defer func() { <-places }()
				serve(ctx, conn)
			})
		default:
			conn.SetWriteDeadline(time.Now().Add(time.Second)) // the buffer of a new connection has room
			conn.Write(refusal)
			conn.Close()
		}
	}
}

// Either returns a function that finds the principal of a request, as gateway.Config.Principal does, by the
// first function or else by the second. A request that neither accepts is refused as the second one says.
func Either(first, second func(*http.Request) (string, error)) func(*http.Request) (string, error) {
	return func(r *http.Request) (string, error) {
		if principal, err := first(r); err == nil {
			return principal, nil
		}
		return second(r)
	}
}
