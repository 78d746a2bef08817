package manager

import (
	"errors"
	"math/rand/v2"
	"sync"
)

// ErrClosed is the error of Add after Close.
var ErrClosed = errors.New("the manager is closed")

// Manager holds a [Driver] for each of many servers, a registry of their statuses, and a limiter
// for the dials that begin at a time. It must be closed.
type Manager struct {
	registry *StatusRegistry
	dials    dialLimiter
	random   func() float64 // varies the waits

	mu      sync.Mutex
	closed  bool
	drivers map[*Driver]struct{}
}

// New returns a manager without servers.
func New() *Manager {
	return &Manager{registry: newStatusRegistry(), random: rand.Float64, drivers: make(map[*Driver]struct{})}
}

// Registry returns the statuses of the servers. A subscription may begin before the first Add.
func (m *Manager) Registry() *StatusRegistry { return m.registry }

// Add makes the driver of a server, which dials when its connection is first wanted. Two servers
// may have the same name.
func (m *Manager) Add(c Config) (*Driver, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	d := newDriver(m, c)
	m.drivers[d] = struct{}{}
	return d, nil
}

// Remove closes a server and takes it out of the registry.
func (m *Manager) Remove(d *Driver) error {
	err := d.Close()
	m.mu.Lock()
	delete(m.drivers, d)
	m.mu.Unlock()
	m.registry.remove(d.id)
	return err
}

// Close closes all servers, and then the registry, which keeps their last statuses. It returns when
// nothing is left, and may be called more than once.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.closed = true
	errs := make(chan error, len(m.drivers))
	for d := range m.drivers {
		go func() { errs <- d.Close() }()
	}
	n := cap(errs)
	m.mu.Unlock()
	var all error
	for range n {
		all = errors.Join(all, <-errs)
	}
	m.registry.Close()
	return all
}
