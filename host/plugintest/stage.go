package plugintest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// stage is one guest with a host, a clock and a server around it, all on one
// goroutine: nothing happens by itself, and everything that is to happen has
// happened when a step is over.
type stage struct {
	ctx      context.Context
	story    string // the id of the scenario
	inst     *guest.Instance
	record   *recording
	server   server
	cast     *cast
	grants   []abi.Grant
	clock    time.Time
	timers   timers
	streams  []*stream
	agenda   []func() error
	acts     int
	refuse   abi.Status // what open answers
	stuck    bool       // the server takes nothing
	cut      cutter
	holding  bool
	version  string // of the protocol, as facts have it
	epoch    uint32
	exchange uint32            // the highest so far
	sent     map[uint32]string // messages, by exchange
	unheard  map[uint32]bool   // those that the server has not seen
	foreseen [][]byte          // what steps to come expect to see
	heard    []uint32          // what the server has seen, in order, and no step has asked for
	inbox    inbox
	said     map[string]int // messages of the server that may still be delivered, by their text
	calm     bool           // the guest may give the connection up
	asked    map[uint32]bool
}

// cast is what all runs of a scenario have in common.
type cast struct {
	module   *wasm.Module
	manifest abi.Manifest
	settings []abi.Pair
	wire     wire
	limits   guest.Limits
	random   func() io.Reader
}

// mostActs is how many things may happen within one run. A guest and a server
// that keep each other busy are stopped by it.
const mostActs = 200_000

// raise instantiates the guest. The caller calls strike.
func raise(ctx context.Context, c *cast) (*stage, error) {
	g := &stage{
		ctx: ctx, cast: c, record: newRecording(), clock: epoch, grants: c.manifest.Grants,
		sent: map[uint32]string{}, unheard: map[uint32]bool{}, asked: map[uint32]bool{}, said: map[string]int{},
	}
	g.inbox = inbox{stage: g, waiting: map[uint32]bool{}, done: map[uint32]bool{}, barren: map[uint32]bool{}, failed: map[uint32]error{}}
	inst, err := guest.New(ctx, guest.Config{
		Plugin: c.module.Name(), Module: c.module, Limits: c.limits, Trace: g.record.line,
		Alone: true, Now: g.now, Random: c.source(),
	})
	if err != nil {
		return g, err
	}
	g.inst, g.record.used = inst, inst.Used
	return g, nil
}

// source is the randomness of one instance.
func (c *cast) source() io.Reader {
	if c.random != nil {
		return c.random()
	}
	return randomness()
}

// now is the clock of the guest: it goes on a little whenever it is looked at,
// since a runtime may wait for it to.
func (g *stage) now() time.Time {
	g.clock = g.clock.Add(time.Microsecond)
	return g.clock
}

// strike ends the guest, whatever it does.
func (g *stage) strike() {
	if g.inst == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = g.inst.Close(ctx) // it returns no errors
}

// open begins the connection and lets both sides do what they do at first.
func (g *stage) open() error {
	g.server = g.cast.wire.serve(g)
	g.inst.Open(&abi.Settings{
		Server: "kit", Values: g.cast.settings, Grants: g.grants, MessageCap: uint32(g.messageCap()),
	}, nil, g, &g.inbox)
	return g.pump()
}

func (g *stage) messageCap() int {
	if g.cast.limits.MessageCap > 0 {
		return g.cast.limits.MessageCap
	}
	return 16 << 20
}

func (g *stage) soon(act func() error) { g.agenda = append(g.agenda, act) }

// pump runs what is to happen until nothing is.
func (g *stage) pump() error {
	for len(g.agenda) > 0 {
		act := g.agenda[0]
		g.agenda = g.agenda[1:]
		if g.acts++; g.acts > mostActs {
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

// wrong returns what the guest must not have done, if it did.
func (g *stage) wrong() error {
	if g.inbox.fault != nil {
		return g.inbox.fault
	}
	var trap *wasm.Trap
	var mistake *guest.PluginError
	switch err := g.inbox.closed; {
	case err == nil:
	case errors.As(err, &trap):
		return fmt.Errorf("the guest was stopped: %w", err)
	case errors.As(err, &mistake) && !g.calm:
		return fmt.Errorf("the guest gave the connection up: %w", err)
	}
	return nil
}

// pass lets time go by, with the timers that run out.
func (g *stage) pass(d time.Duration) error {
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
		g.soon(func() error { g.timers.fire(id); return nil })
		if err := g.pump(); err != nil {
			return err
		}
	}
}

// send hands a message to the guest.
func (g *stage) send(exchange uint32, text string) error {
	e, err := readEnvelope(text)
	if err != nil {
		return err
	}
	f := abi.Facts{Kind: e.kind(), ID: string(e.ID), Method: e.Method, Name: e.name(), Version: g.version, Epoch: g.epoch}
	g.exchange = max(g.exchange, exchange)
	g.sent[exchange], g.unheard[exchange] = text, true
	g.inbox.waiting[exchange] = f.Kind == abi.Request
	payload := abi.AppendFacts(nil, &f)
	m := &letter{exchange: exchange, start: len(payload), payload: append(payload, text...), urgent: f.Kind == abi.Reply}
	if err := g.inst.Send(g.ctx, m); err != nil {
		g.inbox.failed[exchange] = err
	}
	return g.pump()
}

// letter is an outgoing message.
type letter struct {
	exchange uint32
	payload  []byte
	start    int
	urgent   bool
}

func (l *letter) Exchange() uint32       { return l.exchange }
func (l *letter) Payload() ([]byte, int) { return l.payload, l.start }
func (l *letter) Urgent() bool           { return l.urgent }
func (l *letter) Prompted() bool         { return l.urgent } // all that is urgent here is replies
func (l *letter) Hold()                  {}
func (l *letter) Free()                  {}

// hears notes that the server has a message, and returns its exchange.
func (g *stage) hears(message []byte) (uint32, error) {
	for exchange := uint32(1); exchange <= g.exchange; exchange++ {
		if g.unheard[exchange] && g.sent[exchange] == string(message) {
			delete(g.unheard, exchange)
			g.heard = append(g.heard, exchange)
			return exchange, nil
		}
	}
	return 0, fmt.Errorf("the server got what nobody sent: %s", short(message))
}

// says has the server say a message, or its first half.
func (g *stage) says(exchange uint32, message string, half bool) error {
	g.said[bare(message)]++
	return g.server.say(exchange, message, half)
}

// bare is a message without the white space around it, which is none of its bytes.
func bare(message string) string { return strings.Trim(message, " \t\r\n") }

// say lets the bytes of a stream go to the guest, or keeps them for the release.
func (g *stage) say(s *stream, p []byte) {
	if s.held = append(s.held, p...); !g.holding {
		g.utter(s, false)
	}
}

// utter brings what a stream holds to the guest, cut as the run wants it.
func (g *stage) utter(s *stream, last bool) {
	p := s.held
	s.held = nil
	for _, piece := range g.cut.pieces(p) {
		g.soon(func() error { s.sink.Data(piece, false); return nil })
	}
	if last {
		s.over = true
		g.soon(func() error { s.sink.End(); return nil })
	}
}

// short is the beginning of a message, for people.
func short(p []byte) string {
	const most = 120
	if len(p) > most {
		return fmt.Sprintf("%q… (%d bytes)", p[:most], len(p))
	}
	return fmt.Sprintf("%q", p)
}
