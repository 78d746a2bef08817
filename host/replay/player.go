package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/redact"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// player replays one connection: it answers the guest from the recording, and compares the
// guest's behaviour with the recording. It belongs to one goroutine.
type player struct {
	connection int
	opening    *opening
	mod        *wasm.Instance
	event      *wasm.Func
	clock      clock
	random     random
	options    Options
	report     *Report
	tally      tally
	dead       bool  // no more events can be run
	trap       error // why, if the guest trapped

	step     *step    // the current event
	want     []call   // the calls of step that are compared
	next     int      // index in want of the next call
	halted   bool     // the guest was stopped at the same point as the recorded guest
	manifest []byte   // reported by the guest
	context  []string // the latest lines of the call trace
}

// pages is the memory limit of a transport, as in a host.
const pages = 256

// newPlayer starts a guest. The caller closes it.
func newPlayer(ctx context.Context, m *wasm.Module, o *opening) (*player, error) {
	p := &player{
		opening: o, report: &Report{}, tally: make(tally),
		clock: clock{given: o.clock}, random: random{given: o.random},
	}
	mod, err := m.Instantiate(ctx, wasm.InstanceConfig{
		Env: guest.Environ(), MemoryPages: pages, Owner: p, Now: p.clock.now, Random: &p.random,
	})
	if err != nil {
		return nil, err
	}
	p.mod, p.event = mod, mod.Export(abi.ExportEvent)
	return p, nil
}

func (p *player) close() { _ = p.mod.Close() } // the instance is dropped either way

// contextLines is how many lines are shown before a difference.
const contextLines = 8

// note keeps a line of the call trace for the context of a difference.
func (p *player) note(line string) {
	if len(p.context) == contextLines {
		p.context = append(p.context[:0], p.context[1:]...)
	}
	p.context = append(p.context, line)
}

// run passes an event to the guest and compares its behaviour with the recording. A trap of the
// guest counts as behaviour, and not as an error.
func (p *player) run(s *step) error {
	if p.dead {
		p.report.Skipped++
		return nil
	}
	p.begin(s)
	result, err := p.event.Call(guest.Budget(s.size), uint32(s.kind), s.handle, s.arg, uint32(s.size))
	trap := (*wasm.Trap)(nil)
	if err != nil && !errors.As(err, &trap) {
		return err
	}
	p.finish(int32(result), trap)
	return nil
}

func (p *player) begin(s *step) {
	p.report.Events++
	if s.sealed() {
		s.bytes = bytes.Repeat([]byte{redact.Star}, s.size)
	}
	p.step, p.want, p.next, p.halted = s, p.want[:0], 0, false
	for _, c := range s.calls {
		if p.compares(c.op) {
			p.want = append(p.want, c)
		}
	}
	p.report.Calls += len(p.want)
	p.clock.given, p.random.given = s.clock, s.random
	p.note(s.line())
}

// finish compares the end of the event.
func (p *player) finish(result int32, trap *wasm.Trap) {
	s := p.step
	for ; p.next < len(p.want) && !p.halted; p.next++ {
		p.differs(Missing, &p.want[p.next], nil)
	}
	want, got := ending(s.result, s.trap), ending(result, "")
	if trap != nil {
		p.trap = trap
		got = ending(0, trap.Error())
	}
	stopped := trap != nil || p.halted
	switch {
	case stopped != (s.trap != ""):
		p.count(Stopped, s.kind.String(), want, got)
	case !stopped && result != s.result:
		p.count(Result, s.kind.String(), want, got)
	}
	p.dead = stopped || s.trap != ""
	p.note(got)
}

func ending(result int32, trap string) string {
	if trap != "" {
		return string(abi.AppendTrap(nil, trap))
	}
	return string(abi.AppendReturn(nil, result))
}

// compares reports whether the replay compares calls of that function.
func (p *player) compares(op abi.Call) bool {
	switch {
	case op == abi.CallLog:
		return p.options.Logs
	case reads(op):
		return p.options.Reads
	}
	return true
}

// differs counts a difference between a recorded call and a call of the guest. One of the two
// may be nil.
func (p *player) differs(kind string, want, got *call) {
	var a, b string
	what := want
	switch {
	case want == nil:
		b, what = got.lines(0), got
	case got == nil:
		a = want.lines(0)
	default:
		from := apart(want.bytes, got.bytes)
		a, b = want.lines(from), got.lines(from)
	}
	p.count(kind, what.op.String(), a, b)
}

// count counts a difference, and keeps the first with its context.
func (p *player) count(kind, what, want, got string) {
	p.tally[Summary{Kind: kind, What: what}]++
	if p.report.First == nil {
		p.report.First = &Difference{
			Server: p.opening.server, Connection: p.connection, Event: p.step.number,
			Kind: kind, Want: want, Got: got, Before: append([]string{}, p.context...),
		}
	}
}

// clock returns the readings of a recording. After the last it advances by a microsecond with
// each reading.
type clock struct {
	given []int64
	last  int64
}

func (c *clock) now() time.Time {
	c.last += int64(time.Microsecond)
	if len(c.given) > 0 {
		c.last, c.given = c.given[0], c.given[1:]
	}
	return time.Unix(0, c.last)
}

// random returns the bytes of a recording, and after them fixed pseudo-random bytes.
type random struct {
	given []byte
	more  *rand.ChaCha8
}

func (r *random) Read(p []byte) (int, error) {
	n := copy(p, r.given)
	r.given = r.given[n:]
	if n == len(p) {
		return n, nil
	}
	if r.more == nil {
		r.more = rand.NewChaCha8([32]byte{})
	}
	more, err := io.ReadFull(r.more, p[n:])
	if err != nil {
		return n + more, fmt.Errorf("randomness: %w", err)
	}
	return len(p), nil
}
