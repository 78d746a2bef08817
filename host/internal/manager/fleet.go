package manager

import (
	"errors"
	"math/rand/v2"
	"sync"
)

// ErrFleetClosed is what Add returns after Close.
var ErrFleetClosed = errors.New("the fleet is closed")

// Fleet is many servers: their drivers, the board that shows them, and the gate
// that has them dial in turns. It must be closed.
type Fleet struct {
	board  *Board
	gate   gate
	random func() float64 // spreads the waits

	mu      sync.Mutex
	closed  bool
	drivers map[*Driver]struct{}
}

// NewFleet returns a fleet without servers. Its board can be subscribed to at
// once.
func NewFleet() *Fleet {
	return &Fleet{board: NewBoard(), random: rand.Float64, drivers: make(map[*Driver]struct{})}
}

// Board returns the board that shows the servers.
func (f *Fleet) Board() *Board { return f.board }

// Add makes the driver of a server, which dials when somebody wants it to. Names
// need not differ.
func (f *Fleet) Add(c Config) (*Driver, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, ErrFleetClosed
	}
	d := newDriver(f, c)
	f.drivers[d] = struct{}{}
	return d, nil
}

// Remove closes a server and takes it off the board.
func (f *Fleet) Remove(d *Driver) error {
	err := d.Close()
	f.mu.Lock()
	delete(f.drivers, d)
	f.mu.Unlock()
	f.board.remove(d.id)
	return err
}

// Close closes all servers, and then the board, which shows their end. It
// returns when nothing is left, and may be called more than once.
func (f *Fleet) Close() error {
	f.mu.Lock()
	f.closed = true
	errs := make(chan error, len(f.drivers))
	for d := range f.drivers {
		go func() { errs <- d.Close() }()
	}
	n := cap(errs)
	f.mu.Unlock()
	var all error
	for range n {
		all = errors.Join(all, <-errs)
	}
	f.board.Close()
	return all
}
