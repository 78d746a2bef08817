package host

import (
	"context"
	"sync"
)

// turn is held by one at a time, as a mutex is, and those who wait for it may
// leave: what holds it up is a person. Its zero value is free.
type turn struct {
	mu    sync.Mutex
	taken chan struct{} // closed when it is given back; nil while it is free
}

// take waits for the turn, or for the end of ctx. Whoever gets it gives it back.
func (t *turn) take(ctx context.Context) error {
	for {
		taken := t.try()
		if taken == nil {
			return nil
		}
		select {
		case <-taken:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// try takes the turn if it is free, and else returns what ends with it.
func (t *turn) try() (taken <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken != nil {
		return t.taken
	}
	t.taken = make(chan struct{})
	return nil
}

func (t *turn) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.taken)
	t.taken = nil
}
