package session

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// owner is the Connections of a test: it has its session connected when a call needs
// that, and never by itself.
type owner struct {
	session *Session
	options ConnectOptions
	turn    chan struct{} // holds a token while a connection is made or ended

	conn   atomic.Pointer[Conn]
	last   *Conn // what the next one may go on with
	closed bool
}

// setup is what a test makes a session of.
type setup struct {
	Config
	ConnectOptions
}

// Open returns a session that is connected. On an error nothing is left of it.
func Open(ctx context.Context, c setup) (*Session, error) {
	s, err := c.session()
	if err == nil {
		if _, err = s.acquire(ctx); err != nil {
			s.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("connect %s: %w", c.Name, err)
	}
	return s, nil
}

// session returns a session that is not connected yet.
func (c setup) session() (*Session, error) {
	o := &owner{options: c.ConnectOptions, turn: make(chan struct{}, 1)}
	c.Connections = o
	s, err := New(c.Config)
	o.session = s
	return s, err
}

func ownerOf(s *Session) *owner { return s.cfg.Connections.(*owner) }

func (o *owner) Current() *Conn { return o.conn.Load() }

func (o *owner) Await(ctx context.Context) (*Conn, error) { return o.Acquire(ctx) }

func (o *owner) Acquire(ctx context.Context) (*Conn, error) {
	if c := o.usable(); c != nil {
		return c, nil
	}
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if c := o.usable(); c != nil {
		return c, nil
	}
	return o.connect(ctx)
}

func (o *owner) usable() *Conn {
	if c := o.Current(); c != nil && !c.ended() && !c.Forgotten() {
		return c
	}
	return nil
}

// connect makes a connection in place of the one that there is. The caller has the turn.
func (o *owner) connect(ctx context.Context) (*Conn, error) {
	if o.closed {
		return nil, errors.New("the owner is closed")
	}
	if c := o.conn.Swap(nil); c != nil {
		c.Retire()
		if !c.Forgotten() {
			c.Close(false)
		}
		o.last = c
	}
	after := o.last
	c, err := o.session.Connect(ctx, &o.options, after)
	if err != nil {
		if after != nil && !after.Forgotten() {
			o.last = nil
		}
		return nil, err
	}
	o.last = nil
	o.conn.Store(c)
	return c, nil
}

// replace ends the connection as a reload does, and has the next one go on with its
// session where leave says so.
func (o *owner) replace(ctx context.Context, leave bool) error {
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	c := o.conn.Swap(nil)
	c.Retire()
	c.Drain(ctx)
	if o.last = nil; leave {
		o.last = c
	}
	return c.Close(leave)
}

func (o *owner) Close() error {
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	o.closed = true
	var errs []error
	for _, c := range []*Conn{o.conn.Swap(nil), o.last} {
		if c != nil {
			errs = append(errs, c.Close(false))
		}
	}
	return errors.Join(errs...)
}
