package rpc

import "sync/atomic"

// Counters say what came in over a connection, and which of it was dropped.
type Counters struct {
	Answers   uint64 // responses that a call got
	Late      uint64 // responses to a call that ended before its answer
	Duplicate uint64 // responses to a call that was answered before
	Unknown   uint64 // responses with an id that was never given out
	WrongID   uint64 // responses that ended a call, with the wrong id

	Blank     uint64 // messages of white space
	Malformed uint64 // messages that are no JSON-RPC message
	Arrays    uint64 // arrays where the protocol has none, within Malformed
	TooBig    uint64 // messages over the cap
	Failures  uint64 // outgoing messages that the transport lost and no call waits for

	Requests uint64 // requests of the server
	Refused  uint64 // those that were refused before they reached the handler
	Unsaid   uint64 // replies and cancellations that were dropped because too many waited

	Notifications uint64 // notifications of the server; the next three count those dropped for want of room
	LogsDropped   uint64 // log messages, the oldest first
	Coalesced     uint64 // notifications that a later one replaces
	NotesDropped  uint64 // all others
}

// atomicCounters has the counts that no mutex guards.
type atomicCounters struct {
	blank, malformed, arrays, tooBig, failures, requests, refused atomic.Uint64
}

// Counters returns the counts so far.
func (p *Peer) Counters() Counters {
	p.flight.mu.Lock()
	c := p.flight.counts
	p.flight.mu.Unlock()
	c.Blank = p.counters.blank.Load()
	c.Malformed = p.counters.malformed.Load()
	c.Arrays = p.counters.arrays.Load()
	c.TooBig = p.counters.tooBig.Load()
	c.Failures = p.counters.failures.Load()
	c.Requests = p.counters.requests.Load()
	c.Refused = p.counters.refused.Load()
	c.Unsaid = p.sender.unsent()
	q := &p.notifications
	q.mu.Lock()
	defer q.mu.Unlock()
	c.Notifications, c.LogsDropped, c.Coalesced, c.NotesDropped = q.heard, q.logs, q.coalesced, q.lost
	return c
}
