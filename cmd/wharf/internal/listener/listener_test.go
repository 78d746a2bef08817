package listener

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

// More clients than may be served are told so and closed, and there is room again when one leaves. The end of the
// context ends all.
func TestClients(t *testing.T) {
	t.Parallel()
	l, err := HTTP(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	served, left, over := make(chan io.ReadWriteCloser), make(chan struct{}, 1), make(chan error)
	go func() {
		over <- Clients(ctx, l, 1, []byte("no room\n"), func(ctx context.Context, c io.ReadWriteCloser) {
			defer context.AfterFunc(ctx, func() { c.Close() })()
			served <- c
			c.Read(make([]byte, 1))
			c.Close()
			left <- struct{}{}
		})
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	first := dial()
	<-served
	if said, err := io.ReadAll(dial()); string(said) != "no room\n" || err != nil {
		t.Errorf("the second client reads %q, %v", said, err)
	}
	first.Close()
	<-left
	// The place is free a moment after serve has returned.
	for third := dial(); ; third = dial() {
		closed := make(chan struct{})
		go func() { third.Read(make([]byte, 1)); close(closed) }()
		select {
		case <-served:
		case <-closed:
			continue
		}
		break
	}
	why := errors.New("enough")
	cancel(why)
	if err := <-over; err != why {
		t.Error(err)
	}
}
