package manager

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// dialedConn is a dial and the connection that it makes.
type dialedConn struct {
	ticket *ticket
	after  Conn            // the connection that the dial may inherit from
	wanted context.Context // ends with the first Drop
	stop   context.CancelFunc
	drains context.Context // ends with a Drop that is an Abort
	abort  context.CancelFunc

	// Guarded by the mutex of the driver.
	how  Ending // of the newest Drop
	over bool
}

// end notes that neither the dial nor the connection of l exists any more.
func (l *dialedConn) end() {
	l.over = true
	l.abort() // this ends both contexts
}

// begin starts the life of a connection.
func (d *Driver) begin(inherit bool) {
	if !inherit {
		d.last = nil
	}
	d.err = nil
	l := &dialedConn{ticket: &ticket{urgent: d.acquisition != nil, retry: d.machine.Status().Attempt > 1}, after: d.last}
	l.drains, l.abort = context.WithCancel(context.Background())
	l.wanted, l.stop = context.WithCancel(l.drains)
	d.life = l
	d.manager.dials.join(l.ticket)
	go d.live(l)
}

// drop ends the dial or the connection, or a connection that is kept for the next dial.
func (d *Driver) drop(how Ending) {
	if c := d.current.Swap(nil); c != nil {
		(*c).Retire()
	}
	l := d.life
	if l.over { // only a connection kept for the next dial is left
		go func() { d.gone(l, nil, d.discard()) }()
		return
	}
	l.how = how // it may be more abrupt than before
	l.stop()
	if how == Abort {
		l.abort()
	}
}

// live dials. It returns when follow has taken over the connection, or when the dial has failed or
// was given up and the machine knows that. A Drop ends the dial.
func (d *Driver) live(l *dialedConn) {
	c, err := d.dialInTurn(l)
	if err == nil {
		d.follow(l, c)
		return
	}
	why := d.classify(err)
	d.mu.Lock()
	wanted := l.wanted.Err() == nil // false if the dial was given up; certain only under the mutex
	if wanted {
		l.end()
		d.run(d.machine.ConnectFailed(time.Now(), why, err))
	}
	d.mu.Unlock()
	if !wanted {
		d.gone(l, nil, d.discard())
	}
}

// dialInTurn waits for this server's turn and dials.
func (d *Driver) dialInTurn(l *dialedConn) (Conn, error) {
	defer d.manager.dials.leave(l.ticket)
	if err := l.ticket.wait(l.wanted); err != nil {
		return nil, err
	}
	return d.dial(l.wanted, l.after)
}

// follow takes over from live when there is a connection. No goroutine waits while the connection
// lasts: its end, or the first Drop, starts one.
func (d *Driver) follow(l *dialedConn, c Conn) {
	if !d.connected(l, c) {
		d.leave(l, c)
		return
	}
	var left atomic.Bool
	leave := func() {
		if !left.Swap(true) {
			d.leave(l, c)
		}
	}
	stop := c.AfterEnd(func() {
		d.lost(c)
		leave()
	})
	context.AfterFunc(l.wanted, func() {
		stop()
		leave()
	})
}

// connected reports whether c is still wanted.
func (d *Driver) connected(l *dialedConn, c Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.wanted.Err() != nil {
		return false
	}
	d.last, d.open = nil, false
	d.current.Store(&c)
	d.run(d.machine.Connected(time.Now(), d.pulse()))
	d.settle(c, nil)
	return true
}

// lost tells the machine that c has ended, unless join has done so.
func (d *Driver) lost(c Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Current() == c {
		d.run(d.machine.Lost(time.Now(), c.Err()))
	}
}

// ask asks the server of c for a sign of life.
func (d *Driver) ask(l *dialedConn, c Conn, within time.Duration) {
	ctx, cancel := context.WithTimeout(l.wanted, within)
	defer cancel()
	err := c.Ping(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	switch {
	case d.Current() != c: // c was dropped
	case c.Forgotten():
		d.run(d.machine.Forgotten(now, errForgotten))
	case err == nil:
		d.run(d.machine.Answered(now))
	case !over(c): // else the end of c reports itself
		d.run(d.machine.Silent(now, c.Heard()))
	}
}

// leave ends c in the way of the newest Drop.
func (d *Driver) leave(l *dialedConn, c Conn) {
	d.mu.Lock()
	drains := l.how == HandOver || l.how == Drain
	d.mu.Unlock()
	if drains {
		ctx, cancel := context.WithTimeout(l.drains, DrainTime)
		c.Drain(ctx)
		cancel()
	}
	d.mu.Lock()
	how := l.how
	if how == LeaveOpen { // c stays open for the next dial
		l.end()
		d.last, d.open = c, true
		d.run(d.machine.Gone(time.Now()))
	}
	d.mu.Unlock()
	if how != LeaveOpen {
		err := c.Close(how == HandOver)
		d.asking.Wait()
		d.gone(l, c, errors.Join(err, d.discard()))
	}
}

// discard closes the connection that was kept for the next dial, if there is one.
func (d *Driver) discard() error {
	d.mu.Lock()
	c, open := d.last, d.open
	d.last, d.open = nil, false
	d.mu.Unlock()
	if !open {
		return nil
	}
	return c.Close(false)
}

// gone tells the machine that nothing is left of c or, if c is nil, of the dial.
func (d *Driver) gone(l *dialedConn, c Conn, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l.end()
	d.last, d.err = c, err
	d.run(d.machine.Gone(time.Now()))
}
