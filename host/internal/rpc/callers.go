package rpc

import "sync/atomic"

// callers says for whom calls are open, where one connection makes them for several callers. A call
// without a caller is not among them. mu of the table guards it.
type callers struct {
	open      map[uint64]int    // calls by caller: those that are pending, and those in abandoned
	abandoned map[uint32]uint64 // the callers of calls that ended before their answer, by exchange
	unknown   bool              // more calls were abandoned than can be remembered
	any       atomic.Bool       // a call had a caller
}

// maxAbandoned is how many calls without an answer are remembered.
const maxAbandoned = 1024

func (a *callers) add(caller uint64) {
	if caller == 0 {
		return
	}
	if a.open == nil {
		a.any.Store(true)
		a.open, a.abandoned = make(map[uint64]int), make(map[uint32]uint64)
	}
	a.open[caller]++
}

// remove takes out a call that was answered, or never sent.
func (a *callers) remove(caller uint64) {
	if caller == 0 {
		return
	}
	if a.open[caller]--; a.open[caller] == 0 {
		delete(a.open, caller)
	}
}

// abandon keeps a call that no caller waits for, and that the server may still work on.
func (a *callers) abandon(exchange uint32, caller uint64) {
	switch {
	case caller == 0:
	case len(a.abandoned) == maxAbandoned:
		a.unknown = true
		a.remove(caller)
	default:
		a.abandoned[exchange] = caller
	}
}

// late takes an abandoned call out: its answer has come, or it was never sent.
func (a *callers) late(exchange uint32) {
	if caller, ok := a.abandoned[exchange]; ok {
		delete(a.abandoned, exchange)
		a.remove(caller)
	}
}

// neverSent takes out a call that ended before it had left.
func (f *inflight) neverSent(exchange uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.callers.late(exchange)
}

// callerOf returns the caller of the call that an inbound message belongs to. A message on the
// exchange of a call belongs to that call. One on the shared channel belongs to the caller whose
// calls are open. caller is 0 if no calls are open; sure is false if calls of several callers are.
func (f *inflight) callerOf(exchange uint32) (caller uint64, sure bool) {
	if exchange == 0 && !f.callers.any.Load() { // a connection of one caller, without the lock
		return 0, true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	a := &f.callers
	if c := f.pending[exchange]; c != nil {
		return c.caller, true
	}
	if caller, ok := a.abandoned[exchange]; ok {
		return caller, true
	}
	if a.unknown || len(a.open) > 1 {
		return 0, false
	}
	for caller := range a.open {
		return caller, true
	}
	return 0, true
}
