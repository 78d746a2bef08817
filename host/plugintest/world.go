package plugintest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// stream is something that the guest has opened. What it writes is kept until
// the server comes to it.
type stream struct {
	stage   *harness
	kind    abi.OpenKind
	request abi.OpenRequest
	sink    hostio.Sink

	queued []byte // not flushed, or not taken
	fin    bool   // the writing side was closed, behind queued
	heard  []byte // taken by the server and not yet understood
	ended  bool   // the server has seen the end of what the guest writes
	over   bool   // the server has said its last
	closed bool   // the guest, or the host for it, has closed the handle
	begun  bool   // a head was sent
	held   []byte // what the server says when it is released
}

func (s *stream) Write(p []byte, end bool) {
	s.queued = append(s.queued, p...)
	s.fin = s.fin || end
}

func (s *stream) Flush() {
	if s.stage.stuck {
		return
	}
	s.heard = append(s.heard, s.queued...)
	s.queued, s.ended = nil, s.ended || s.fin
	s.stage.later(func() error { return s.stage.server.wrote(s) })
}

func (s *stream) Queued() int { return len(s.queued) }

func (s *stream) Close() { s.closed = true }

// is reports whether the guest asked for a flag.
func (s *stream) is(flag uint32) bool { return s.request.Flags&flag != 0 }

// Open is the world's side of open. Nothing happens before the guest has
// returned.
func (g *harness) Open(kind abi.OpenKind, r *abi.OpenRequest, sink hostio.Sink) (hostio.Stream, abi.Status, error) {
	if !slices.Contains(g.grants, abi.Grant{Kind: kind, Name: r.Grant}) {
		return nil, abi.Denied, fmt.Errorf("the server entry grants no %s called %q", kind, r.Grant)
	}
	if g.refuse != abi.OK {
		return nil, g.refuse, nil
	}
	request := *r
	request.Headers = slices.Clone(r.Headers)
	s := &stream{stage: g, kind: kind, request: request, sink: sink}
	g.streams = append(g.streams, s)
	g.later(func() error { return g.server.opened(s) })
	return s, abi.OK, nil
}

// Timers is the world's side of timer.
func (g *harness) Timers(fire func(uint32)) hostio.Timers {
	g.timers = timers{stage: g, fire: fire, armed: map[uint32]time.Time{}, due: map[uint32]bool{}}
	return &g.timers
}

// timers run by the virtual clock.
type timers struct {
	stage *harness
	fire  func(uint32)
	armed map[uint32]time.Time
	due   map[uint32]bool
}

func (t *timers) Set(id uint32, after time.Duration) abi.Status {
	delete(t.armed, id)
	delete(t.due, id)
	if after <= 0 {
		return abi.OK
	}
	if len(t.armed) >= abi.MaxTimers {
		return abi.LimitReached
	}
	t.armed[id] = t.stage.clock.Add(max(after, abi.MinTimer*time.Millisecond))
	return abi.OK
}

func (t *timers) Claim(id uint32) bool {
	due := t.due[id]
	delete(t.due, id)
	return due
}

func (t *timers) Stop() { clear(t.armed) }

// next returns the timer that runs out first and not after until.
func (t *timers) next(until time.Time) (id uint32, at time.Time, ok bool) {
	for n, when := range t.armed {
		if when.After(until) || ok && (when.After(at) || when.Equal(at) && n > id) {
			continue
		}
		id, at, ok = n, when, true
	}
	return id, at, ok
}

// cutter says where what the server says is cut: in one place, in all, or where a
// host would cut it.
type cutter struct {
	at   int // the offset of the one place; 0 for none
	all  bool
	said int // bytes so far
}

func (c *cutter) pieces(p []byte) (list [][]byte) {
	from := c.said
	c.said += len(p)
	switch {
	case c.all:
		for i := range p {
			list = append(list, p[i:i+1])
		}
		return list
	case c.at > from && c.at < c.said:
		list, p = append(list, p[:c.at-from]), p[c.at-from:]
	}
	for ; len(p) > abi.ChunkSize; p = p[abi.ChunkSize:] {
		list = append(list, p[:abi.ChunkSize])
	}
	if len(p) > 0 {
		list = append(list, p)
	}
	return list
}

// epoch is what the clocks of guests begin with.
var epoch = time.Unix(1_750_000_000, 0)

// randomness is the same in every run.
func randomness() *rand.ChaCha8 {
	return rand.NewChaCha8([32]byte([]byte("a wharf is where ships are tested")))
}
