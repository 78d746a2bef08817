package rpc

import (
	"context"
	"errors"
	"time"
)

// sendContext is the context that a link waits on while it has no room for a
// call's message: done when the call has ended, by its deadline, its caller's
// context or the end of the connection. Nearly always there is room and the link
// does not ask, so the real context behind it is made on demand.
//
// It is good until Send returns.
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

// context makes the real context, unless it is there. For a call that has ended, it is done
// from the start and not kept: the goroutine that ended the call may be looking for a context
// to cancel at this moment.
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

// errEnded is for links; callers learn why their call has ended.
var errEnded = errors.New("the call has ended")
