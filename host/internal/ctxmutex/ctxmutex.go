// Package ctxmutex has a mutex for locks that are held across slow work, such as a
// request or a question to a person.
package ctxmutex

import "context"

// Mutex is a mutex whose waiters can give up. Copies are the same mutex.
type Mutex struct{ held chan struct{} }

// New returns an unlocked mutex.
func New() Mutex { return Mutex{make(chan struct{}, 1)} }

// Lock locks the mutex, or returns the cause of ctx if that ends first. A free mutex is
// locked even if ctx has ended.
func (m Mutex) Lock(ctx context.Context) error {
	select {
	case m.held <- struct{}{}:
		return nil
	default:
	}
	select {
	case m.held <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Unlock unlocks the mutex. Another goroutine than the one that locked it may do so.
func (m Mutex) Unlock() { <-m.held }
