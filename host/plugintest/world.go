package plugintest

import (
	"errors"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	socket "github.com/wharf-mcp/wharf/host/internal/capability/stream"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// A target is the target of a grant of the kit. It accepts the requests that a target in a host
// accepts. It dials and starts nothing: the handle is a stream of the kit.
type target struct {
	capability.Target
	harness *harness
}

// targets returns the targets of a server entry in a host. Their addresses matter only if a guest
// names another place.
func targets() map[abi.OpenKind]capability.Target {
	origin, err := httpclient.ParseOrigin("https://server.example")
	if err != nil {
		panic(err) // it is a constant
	}
	return map[abi.OpenKind]capability.Target{
		abi.OpenProcess: process.Process{Command: "server"},
		abi.OpenStream:  socket.Address{Network: "unix", Addr: "/run/server.sock"},
		abi.OpenHTTP:    origin,
	}
}

// newTable returns the table of a host, with what the manifest asks for granted. Its limits
// are those of a host, on the clock of the kit.
func (g *harness) newTable() *capability.Table {
	c := capability.Config{Now: func() time.Time { return g.clock }}
	all := targets()
	for _, grant := range g.grants {
		if to := all[grant.Kind]; to != nil {
			c.Grants = append(c.Grants, capability.Grant{Name: grant.Name, To: target{to, g}})
		}
	}
	return capability.NewTable(c)
}

// Opener implements [capability.Target].
func (t target) Opener(l *capability.Limits) capability.Opener {
	return opener{t.Target.Opener(l), t}
}

type opener struct {
	capability.Opener
	target target
}

// Open makes a stream of the kit for a request that a host's opener accepts.
func (o opener) Open(at capability.Opening, r *abi.OpenRequest) (capability.Handle, abi.Status, error) {
	if _, status, err := o.Opener.Open(at, r); err != nil {
		return nil, status, err
	}
	if refuse := o.target.harness.refuse; refuse != abi.OK {
		return nil, refuse, errors.New("the scenario refuses it")
	}
	s := &stream{harness: o.target.harness, kind: o.target.Kind(), request: *r}
	s.request.Headers = slices.Clone(r.Headers)
	if s.Init(at); s.kind == abi.OpenHTTP {
		s.Events.AllowDrained() // an exchange takes its body before there is a head
	}
	return s, abi.OK, nil
}

// stream is a handle that the guest has opened. Bytes that the guest writes are kept until the
// server reads them.
type stream struct {
	capability.Slot
	harness *harness
	kind    abi.OpenKind
	request abi.OpenRequest

	queued []byte // not flushed, or not taken
	fin    bool   // the writing side was closed, behind queued
	heard  []byte // taken by the server and not yet understood
	ended  bool   // the server has seen the end of what the guest writes
	over   bool   // the server has said its last
	closed bool   // the guest, or the host for it, has closed the handle
	taken  bool   // the server has understood heard, a whole request
	headed bool   // a head was sent
	held   []byte // what the server says when it is released
}

// Start implements [capability.Handle]. Nothing happens before the guest has returned.
func (s *stream) Start() {
	s.harness.streams = append(s.harness.streams, s)
	s.harness.later(func() error { return s.harness.server.opened(s) })
}

// End implements [capability.Handle].
func (s *stream) End() { s.finish(s.Slot.End) }

// finish calls last for the last event of a stream, and takes the stream out of its table.
func (s *stream) finish(last func()) {
	if !s.Ended() {
		s.Cancel(nil)
		last()
		s.Remove()
	}
}

// head sends the head of an answer to the guest.
func (s *stream) head(status int, headers []abi.Pair, length int64, body []byte, last bool) {
	s.headed, s.over = true, s.over || last
	s.Requested(true)
	s.Events.Head(status, headers, length, body, last)
}

// exit says that the process behind a stream has ended.
func (s *stream) exit(code int, signal string) {
	s.finish(func() { s.Events.Exit(code, signal, false) })
}

// fail breaks the stream off.
func (s *stream) fail(status abi.Status) {
	if s.kind == abi.OpenHTTP && !s.headed {
		s.Requested(false)
	}
	s.finish(func() { s.Events.Error(status, errBroken) })
}

func (s *stream) Write(p []byte, end bool) {
	s.queued = append(s.queued, p...)
	s.fin = s.fin || end
}

func (s *stream) Flush() {
	if s.harness.stuck {
		return
	}
	s.heard = append(s.heard, s.queued...)
	s.queued, s.ended = nil, s.ended || s.fin
	s.harness.later(func() error { return s.harness.server.wrote(s) })
}

func (s *stream) Queued() int { return len(s.queued) }

func (s *stream) Close() {
	s.closed = true
	s.End()
}

// upgrades reports whether the guest asked for an upgrade to a byte stream.
func (s *stream) upgrades() bool { return s.request.Flags&abi.Upgrade != 0 }

// Open opens through the table. It keeps the error of a refusal for the report.
func (g *harness) Open(kind abi.OpenKind, r *abi.OpenRequest, sink hostio.Sink) (hostio.Stream, abi.Status, error) {
	s, status, err := g.table.Open(kind, r, sink)
	if err != nil && g.refuse == abi.OK {
		g.refusal = err
	}
	return s, status, err
}

// Timers implements [hostio.Host].
func (g *harness) Timers(fire func(uint32)) hostio.Timers {
	g.timers = timers{harness: g, fire: fire, armed: map[uint32]time.Time{}, due: map[uint32]bool{}}
	return &g.timers
}

// timers run by the virtual clock.
type timers struct {
	harness *harness
	fire    func(uint32)
	armed   map[uint32]time.Time
	due     map[uint32]bool
}

func (t *timers) Set(id uint32, after time.Duration) abi.Status {
	delete(t.armed, id)
	delete(t.due, id)
	if after <= 0 {
		return abi.OK
	}
	if len(t.armed)+len(t.due) >= abi.MaxTimers {
		return abi.LimitReached
	}
	t.armed[id] = t.harness.clock.Add(max(after, abi.MinTimer*time.Millisecond))
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

// cutter says where the server's bytes are cut: in one place, in all places, or where a host would
// cut them.
type cutter struct {
	at   int // the offset of the one place; 0 for none
	all  bool
	said int // bytes so far
}

// cuts reports whether it cuts in places where a host would not.
func (c *cutter) cuts() bool { return c.all || c.at > 0 }

func (c *cutter) pieces(p []byte) (list [][]byte) {
	from := c.said
	c.said += len(p)
	size := abi.ChunkSize
	switch {
	case c.all:
		size = 1
	case c.at > from && c.at < c.said:
		list, p = append(list, p[:c.at-from]), p[c.at-from:]
	}
	return slices.AppendSeq(list, slices.Chunk(p, size))
}

// epoch is the time at which the clocks of guests begin.
var epoch = time.Unix(1_750_000_000, 0)
