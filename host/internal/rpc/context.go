package rpc

import (
	"context"
	"errors"
	"time"
)

// sendContext is the context that a link waits on while it has no room for a call's message. It is
// done when the call has ended: by its deadline, its caller's context or the end of the connection.
// The link nearly always has room and does not use the context, so the real context behind it is
// made on demand. It is valid until Send returns.
type sendContext pendingCall

func (s *sendContext) Deadline() (time.Time, bool) {
	deadline, ok := s.parent.Deadline()
	if !ok || !s.deadline.IsZero() && s.deadline.Before(deadline) {
		deadline = s.deadline
	}
	return deadline, !deadline.IsZero()
}

func (s *sendContext) Done() <-chan struct{} { return s.context().Done() }
func (s *sendContext) Err() error            { return s.context().Err() }

// Value reaches into the real context too, so that context.Cause works.
func (s *sendContext) Value(key any) any { return s.context().Value(key) }

// context makes the real context, unless it exists. For a call that has ended, it returns a context
// that is done, and does not store it: the goroutine that ended the call may be reading the stored
// context at this moment.
func (s *sendContext) context() context.Context {
	c := (*pendingCall)(s)
	c.flight.mu.Lock()
	defer c.flight.mu.Unlock()
	if c.inner != nil {
		return c.inner
	}
	inner, stop := context.WithCancelCause(c.parent)
	if c.ended {
		stop(errEnded)
		return inner
	}
	c.inner, c.stop = inner, stop
	return inner
}

// errEnded is the error of a sendContext whose call has ended. Only the link sees it: callers learn
// why their call ended.
var errEnded = errors.New("the call has ended")
