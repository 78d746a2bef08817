package plugintest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// harness is one guest with a host, a clock and a server around it, all on one goroutine.
// Nothing runs in the background: when a step returns, all its consequences have
// happened.
type harness struct {
	ctx       context.Context
	inst      *guest.Instance
	record    *recording
	server    server
	setup     *setup
	grants    []abi.Grant
	table     *capability.Table
	refusal   error // why the table has refused an open, the last time
	clock     time.Time
	timers    timers
	streams   []*stream
	queue     []func() error
	ran       int
	refuse    abi.Status // what open answers
	stuck     bool       // the server takes nothing
	cut       cutter
	holding   bool
	gone      bool              // the server has left or crashed
	status    int               // of the next answer over HTTP
	halves    map[uint32]output // the rest of messages that have begun, by exchange
	version   string            // of the protocol, as facts have it
	epoch     uint32
	exchanges map[uint32]*exchange
	highest   uint32   // of the exchanges so far
	expected  [][]byte // what steps to come expect to see
	heard     []uint32 // what the server has seen, in order, and no step has asked for
	inbox     inbox
	said      map[string]int // messages of the server that may still be delivered, by their text
	mayEnd    bool           // the guest may give the connection up
}

// exchange is a message of the host and what belongs to it.
type exchange struct {
	sent       string // the message
	unheard    bool   // the server has not seen it
	waiting    bool   // it is a request without an answer
	cancelled  bool
	done       bool
	unanswered bool // it was done while it waited
	failed     error
}

// of returns the exchange with that number, or an empty one if no message has it.
func (g *harness) of(n uint32) *exchange {
	if x := g.exchanges[n]; x != nil {
		return x
	}
	return &exchange{}
}

// setup holds what all runs of a scenario have in common.
type setup struct {
	module   *wasm.Module
	manifest abi.Manifest
	settings []abi.Pair
	wire     wire
	limits   guest.Limits
	random   func() io.Reader
}

// maxSteps is how many queued functions may run within one scenario. It stops a guest and a
// server that keep each other busy.
const maxSteps = 200_000

// newHarness instantiates the guest. The caller calls stop, also after an error.
func newHarness(ctx context.Context, c *setup) (*harness, error) {
	g := &harness{
		ctx: ctx, setup: c, clock: epoch, grants: c.manifest.Grants,
		record:    &recording{sum: sha256.New(), results: map[uint32]string{}, used: func() int64 { return 0 }},
		exchanges: map[uint32]*exchange{}, said: map[string]int{}, halves: map[uint32]output{}, status: 200,
	}
	g.inbox.harness = g
	g.table = g.newTable()
	var random io.Reader = rand.NewChaCha8([32]byte([]byte("a wharf is where ships are tested"))) // the same in every run
	if c.random != nil {
		random = c.random()
	}
	inst, err := guest.New(ctx, guest.Config{
		Plugin: c.module.Name(), Module: c.module, Limits: c.limits, Trace: g.record.line,
		SingleThreaded: true, Now: g.now, Random: random,
	})
	if err != nil {
		return g, err
	}
	g.inst, g.record.used = inst, inst.Used
	return g, nil
}

// memory returns how much memory the guest has, in bytes.
func (g *harness) memory() int64 { return int64(g.inst.Pages()) * pageSize }

// now is the clock of the guest. It advances a little with each reading, because a runtime may
// wait until it does.
func (g *harness) now() time.Time {
	g.clock = g.clock.Add(time.Microsecond)
	return g.clock
}

// stop ends the guest at once.
func (g *harness) stop() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if g.inst != nil {
		_ = g.inst.Close(ctx) // it returns no errors
	}
	_ = g.table.Close(ctx) // no handle of it has anything to wait for
}

// open begins the connection and lets both sides do their first steps.
func (g *harness) open() error {
	g.server = g.setup.wire.serve(g)
	g.inst.Open(&abi.Settings{
		Server: "kit", Values: g.setup.settings, Grants: g.grants, MessageCap: uint32(cmp.Or(g.setup.limits.MessageCap, usualCap)),
	}, nil, g, &g.inbox)
	return g.pump()
}

func (g *harness) later(act func() error) { g.queue = append(g.queue, act) }

// pump runs queued functions until the queue is empty.
func (g *harness) pump() error {
	for len(g.queue) > 0 {
		act := g.queue[0]
		g.queue = g.queue[1:]
		if g.ran++; g.ran > maxSteps {
			return errors.New("the guest and the server go on for ever")
		}
		if err := g.ctx.Err(); err != nil {
			return err
		}
		if err := act(); err != nil {
			return err
		}
	}
	return g.wrong()
}

// wrong returns what the guest did that it must not do, or nil.
func (g *harness) wrong() error {
	if g.inbox.fault != nil {
		return g.inbox.fault
	}
	var trap *wasm.Trap
	var mistake *guest.PluginError
	switch err := g.inbox.closed; {
	case err == nil:
	case errors.As(err, &trap):
		return fmt.Errorf("the guest was stopped: %w", err)
	case errors.As(err, &mistake) && !g.mayEnd:
		return fmt.Errorf("the guest gave the connection up: %w", err)
	}
	return nil
}

// pass advances the clock, and fires the timers that run out.
func (g *harness) pass(d time.Duration) error {
	until := g.clock.Add(d)
	for {
		id, at, ok := g.timers.next(until)
		if !ok {
			g.clock = until
			return g.pump()
		}
		if at.After(g.clock) {
			g.clock = at
		}
		delete(g.timers.armed, id)
		g.timers.due[id] = true
		g.later(func() error { g.timers.fire(id); return nil })
		if err := g.pump(); err != nil {
			return err
		}
	}
}

// send hands a message to the guest.
func (g *harness) send(n uint32, text string) error {
	e, err := readEnvelope(text)
	if err != nil {
		return err
	}
	f := abi.Facts{Kind: e.kind(), ID: string(e.ID), Method: e.Method, Name: e.name(), Version: g.version, Epoch: g.epoch}
	g.highest = max(g.highest, n)
	g.exchanges[n] = &exchange{sent: text, unheard: true, waiting: f.Kind == abi.Request}
	payload := abi.AppendFacts(nil, &f)
	m := &outMessage{exchange: n, start: len(payload), payload: append(payload, text...), urgent: f.Kind == abi.Reply}
	if err := g.inst.Send(g.ctx, m); err != nil {
		g.of(n).failed = err
	}
	return g.pump()
}

// outMessage is an outgoing message.
type outMessage struct {
	exchange uint32
	payload  []byte
	start    int
	urgent   bool
}

func (l *outMessage) Exchange() uint32       { return l.exchange }
func (l *outMessage) Payload() ([]byte, int) { return l.payload, l.start }
func (l *outMessage) Urgent() bool           { return l.urgent }
func (l *outMessage) Solicited() bool        { return l.urgent } // all that is urgent here is replies
func (l *outMessage) Placed()                {}
func (l *outMessage) Hold()                  {}
func (l *outMessage) Free()                  {}

// hears notes that the server has a message, and returns its exchange.
func (g *harness) hears(message []byte) (uint32, error) {
	for n := uint32(1); n <= g.highest; n++ {
		if x := g.of(n); x.unheard && x.sent == string(message) {
			x.unheard = false
			g.heard = append(g.heard, n)
			return n, nil
		}
	}
	return 0, fmt.Errorf("the server got what was not sent: %s", short(message))
}

// says makes the server say a message, or its first half.
func (g *harness) says(exchange uint32, message string, halved bool) error {
	g.said[trimmed(message)]++
	p, err := g.server.message(exchange, message, halved)
	if err != nil {
		return err
	}
	if n := len(p.bytes) / 2; halved {
		g.halves[exchange] = output{p.on, p.bytes[n:], p.last}
		p.bytes, p.last = p.bytes[:n], false
	}
	g.write(p)
	return g.pump()
}

// trimmed returns a message without the white space around it.
func trimmed(message string) string { return strings.Trim(message, " \t\r\n") }

// write sends output of the server to the guest, or keeps it until the release.
func (g *harness) write(p output) {
	if p.on == nil {
		return // it came with its head
	}
	p.on.held, p.on.over = append(p.on.held, p.bytes...), p.on.over || p.last
	if !g.holding {
		g.flush(p.on)
	}
}

// flush sends the queued bytes of a stream to the guest, cut as this run demands, and then the end
// of the stream if it is over.
func (g *harness) flush(s *stream) {
	pieces := g.cut.pieces(s.held)
	s.held = nil
	for _, piece := range pieces {
		g.later(func() error { s.Events.Data(piece, false); return nil })
	}
	if s.over {
		g.later(func() error { s.Events.End(); return nil })
	}
}

// takeUnfinished returns the streams that the server has not ended, and marks them as over,
// since the server is about to leave. Over HTTP, these are the requests that it has received as
// a whole.
func (g *harness) takeUnfinished() (list []*stream) {
	g.gone = true
	for _, s := range g.streams {
		if !s.over && !s.closed && (s.ended || s.kind != abi.OpenHTTP || s.upgrades()) {
			s.over = true
			list = append(list, s)
		}
	}
	return list
}

// leave ends all streams in good order, as a server does when it ends.
func (g *harness) leave() error {
	for _, s := range g.takeUnfinished() {
		if s.kind == abi.OpenHTTP && !s.headed {
			s.head(g.status, []abi.Pair{contentType(eventStream)}, 0, nil, true)
			continue
		}
		if g.flush(s); s.kind == abi.OpenProcess {
			g.later(func() error { s.exit(0, ""); return nil })
		}
	}
	return g.pump()
}

// crash breaks all streams off.
func (g *harness) crash(status abi.Status) error {
	for _, s := range g.takeUnfinished() {
		g.later(func() error {
			if s.kind == abi.OpenProcess {
				s.Events.End()
				s.exit(-1, "killed")
			} else {
				s.fail(status)
			}
			return nil
		})
	}
	return g.pump()
}

// short returns the beginning of a message, quoted.
func short(p []byte) string {
	const most = 120
	if len(p) > most {
		return fmt.Sprintf("%q… (%d bytes)", p[:most], len(p))
	}
	return fmt.Sprintf("%q", p)
}
