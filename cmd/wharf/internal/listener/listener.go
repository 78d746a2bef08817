// Package listener is where the program listens for clients.
package listener

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// ErrElsewhere is the error for an address that other machines can reach.
var ErrElsewhere = errors.New("other machines can reach it")

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

// HTTP listens on an address of the loopback interface: a port, or a host and a port. Port 0 is any
// that is free. The caller serves it with [Serve].
func HTTP(ctx context.Context, address string) (net.Listener, error) {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return nil, fmt.Errorf("there is no port %q", port)
	}
	switch ip := net.ParseIP(host); {
	case host == "" || host == "localhost":
		host = "127.0.0.1"
	case ip == nil || !ip.IsLoopback():
		return nil, fmt.Errorf("listen at %s: %w", address, ErrElsewhere)
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, port))
}

// Serve answers requests until ctx ends, and then calls end, which has to end the responses that
// would last. It closes the listener.
func Serve(ctx context.Context, l net.Listener, h http.Handler, end func()) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	over := make(chan error, 1)
	go func() { over <- s.Serve(l) }()
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
