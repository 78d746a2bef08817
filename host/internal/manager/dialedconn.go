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
	how   Ending // of the newest Drop
	ended bool
}

// end notes that neither the dial nor the connection of dc exists any more.
func (dc *dialedConn) end() {
	dc.ended = true
	dc.abort() // this ends both contexts
}

// startDial starts a dial. The caller holds d.mu.
func (d *Driver) startDial(inherit bool) {
	if !inherit {
		d.last = nil
	}
	d.err = nil
	dc := &dialedConn{ticket: &ticket{urgent: d.acquisition != nil, retry: d.machine.Status().Attempt > 1}, after: d.last}
	dc.drains, dc.abort = context.WithCancel(context.Background())
	dc.wanted, dc.stop = context.WithCancel(dc.drains)
	d.latest = dc
	d.manager.dials.join(dc.ticket)
	go d.dialAndFollow(dc)
}

// signalDrop takes the connection from callers, and has the goroutine of the dial or of the
// connection end it. It also ends a connection that is kept for the next dial. It does not wait;
// the caller holds d.mu.
func (d *Driver) signalDrop(how Ending) {
	if c := d.current.Swap(nil); c != nil {
		(*c).Retire()
	}
	dc := d.latest
	if dc.ended { // only a connection kept for the next dial is left
		go func() { d.reportGone(dc, nil, d.discard()) }()
		return
	}
	dc.how = how // it may be more abrupt than before
	dc.stop()
	if how == Abort {
		dc.abort()
	}
}

// dialAndFollow dials. It returns when follow has taken over the connection, or when the dial has
// failed or was given up and the machine knows that. A Drop ends the dial.
func (d *Driver) dialAndFollow(dc *dialedConn) {
	c, err := d.dialInTurn(dc)
	if err == nil {
		d.follow(dc, c)
		return
	}
	why := d.classify(err)
	d.mu.Lock()
	wanted := dc.wanted.Err() == nil // false if the dial was given up; certain only under the mutex
	if wanted {
		dc.end()
		d.run(d.machine.ConnectFailed(time.Now(), why, err))
	}
	d.mu.Unlock()
	if !wanted {
		d.reportGone(dc, nil, d.discard())
	}
}

// dialInTurn waits for this server's turn and dials.
func (d *Driver) dialInTurn(dc *dialedConn) (Conn, error) {
	defer d.manager.dials.leave(dc.ticket)
	if err := dc.ticket.wait(dc.wanted); err != nil {
		return nil, err
	}
	return d.dial(dc.wanted, dc.after)
}

// follow takes over from dialAndFollow when there is a connection. No goroutine waits while the connection
// lasts: its end, or the first Drop, starts one.
func (d *Driver) follow(dc *dialedConn, c Conn) {
	if !d.reportConnected(dc, c) {
		d.endConn(dc, c)
		return
	}
	var left atomic.Bool
	leave := func() {
		if !left.Swap(true) {
			d.endConn(dc, c)
		}
	}
	stop := c.AfterEnd(func() {
		d.reportLost(c)
		leave()
	})
	context.AfterFunc(dc.wanted, func() {
		stop()
		leave()
	})
}

// reportConnected tells the machine of c and gives it to callers. It returns false, and does
// neither, if c is no longer wanted.
func (d *Driver) reportConnected(dc *dialedConn, c Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if dc.wanted.Err() != nil {
		return false
	}
	d.last, d.open = nil, false
	d.current.Store(&c)
	d.run(d.machine.Connected(time.Now(), d.pulse()))
	d.settle(c, nil)
	return true
}

// reportLost tells the machine that c has ended, unless join has done so.
func (d *Driver) reportLost(c Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Current() == c {
		d.run(d.machine.Lost(time.Now(), c.Err()))
	}
}

// ask asks the server of c for a sign of life.
func (d *Driver) ask(dc *dialedConn, c Conn, within time.Duration) {
	ctx, cancel := context.WithTimeout(dc.wanted, within)
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
	case !hasEnded(c): // else the end of c reports itself
		d.run(d.machine.Silent(now, c.Heard()))
	}
}

// endConn ends c in the way of the newest Drop.
func (d *Driver) endConn(dc *dialedConn, c Conn) {
	d.mu.Lock()
	drains := dc.how == HandOver || dc.how == Drain
	d.mu.Unlock()
	if drains {
		ctx, cancel := context.WithTimeout(dc.drains, DrainTime)
		c.Drain(ctx)
		cancel()
	}
	d.mu.Lock()
	how := dc.how
	if how == LeaveOpen { // c stays open for the next dial
		dc.end()
		d.last, d.open = c, true
		d.run(d.machine.Gone(time.Now()))
	}
	d.mu.Unlock()
	if how != LeaveOpen {
		err := c.Close(how == HandOver)
		d.asking.Wait()
		d.reportGone(dc, c, errors.Join(err, d.discard()))
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

// reportGone tells the machine that nothing is left of c or, if c is nil, of the dial.
func (d *Driver) reportGone(dc *dialedConn, c Conn, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dc.end()
	d.last, d.err = c, err
	d.run(d.machine.Gone(time.Now()))
}
