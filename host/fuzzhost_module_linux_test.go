//go:build !race

package host_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// moduleAllowance is what a connection over a random module may cost: its share of
// the host's memory, twice for the collector, and the time of its fuel.
func moduleAllowance(job *hostJob) func(took time.Duration) allowance {
	const share = 16<<20 + 2*jobCap + 8<<20 // guest memory, twice the message cap, 8 MiB; see abi/doc.go
	const begin, event, compile = 100_000_000 * unitTime, 10_000_000 * unitTime, 2 * time.Second
	connections := time.Duration(2 + len(job.Steps)) // each step may begin one
	return func(took time.Duration) allowance {
		return allowance{
			memory:    2 * share,
			processor: compile + connections*(begin+4*event) + time.Duration(took.Seconds()*float64(rateTime)),
		}
	}
}

// FuzzHostModule has a host load a random module and connect over it to a random
// server. Its process, seen from outside, costs no more than the module may, and has
// nothing left of it in the end.
func FuzzHostModule(f *testing.F) {
	addSeeds(f, 24)
	hosts := newWatchedHosts(f)
	at := newScriptedSocket(f)
	f.Fuzz(func(t *testing.T, module, server, steps []byte) {
		c := &choices{data: module[:min(len(module), 4<<10)]}
		job := &hostJob{Apart: c.next(64) == 63, Module: randomModule(c), Address: at.address, Protocol: "2026-07-28", Steps: steps[:min(len(steps), 6)]}
		script := &script{choices: choices{data: server[:min(len(server), 4<<10)]}}
		at.play(script)
		report := hosts.do(t, job, moduleAllowance(job))
		script.cancel()
		notice(report)
	})
}

// addSeeds adds random inputs of three parts.
func addSeeds(f *testing.F, many int) {
	random := rand.New(rand.NewPCG(3, 4))
	part := func(least, most int) []byte {
		p := make([]byte, least+random.IntN(most-least))
		for i := range p {
			p[i] = byte(random.Uint32())
		}
		return p
	}
	for range many {
		f.Add(part(20, 500), part(20, 400), part(1, 6))
	}
}

// notice goes another way for each end, so that the fuzzer, which sees this process
// alone, knows an input that ends as none before it did.
func notice(report hostReport) (noticed int) {
	for _, end := range report.Ends {
		switch end {
		case "done":
			noticed += 1
		case "not sent":
			noticed += 2
		case "timed out":
			noticed += 3
		case "plugin":
			noticed += 4
		case "protocol":
			noticed += 5
		case "unreachable":
			noticed += 6
		case "refused":
			noticed += 7
		case "configuration":
			noticed += 8
		default:
			noticed += 9
		}
	}
	return noticed
}

// moduleMaker writes the functions of a module, decision by decision. Every function
// returns one i32 and has the locals 0 to 7, the last of which counts loops.
type moduleMaker struct {
	*choices
	out    []byte
	labels int // blocks around this place, all of which carry nothing
	helper func(n int) uint32
}

const (
	makerLocals  = 7 // that statements set
	makerHelpers = 2
)

// randomModule is a module that passes for a plugin and does as a plugin does, but
// for what the choices have it do in between.
func randomModule(c *choices) []byte {
	p := hostileGuest{tables: [][]byte{table(4, 64)}, on: map[abi.Kind][]byte{}}
	p.pages = uint32(2 + c.next(3))
	m := &moduleMaker{choices: c, helper: p.hand}
	p.entries = []uint32{p.hand(0), p.hand(1), p.eventHand()}
	for kind := abi.EventDescribe; kind <= abi.EventClose; kind++ {
		p.on[kind] = m.event(kind)
	}
	if c.rarely() {
		p.begin = m.function(func() { m.statements(3) }, 0)
	}
	for range makerHelpers {
		p.crew = append(p.crew, wasmFunc{typ: typeOne, locals: 7, code: m.function(func() { m.statements(3); m.expression(2) }, 0)})
	}
	return p.bytes()
}

func (m *moduleMaker) function(write func(), labels int) []byte {
	m.out, m.labels = nil, labels
	write()
	return m.out
}

func (m *moduleMaker) op(parts ...any) { m.out = append(m.out, code(parts...)...) }

// duties are what an honest plugin over a stream does at an event: the first handle
// that it gets is 1.
var duties = map[abi.Kind][]byte{
	abi.EventDescribe: code(ask(abi.CallReport, int32(abi.ReportManifest), 0, 0, manifestAt, int32(len(papers())))),
	abi.EventOpen:     code(opening, ask(abi.CallReport, int32(abi.ReportUp), 0, 0, 0, 0)),
	abi.EventMessage: code(num(1), get(1), get(3), get(1), 0x6b, num(0), invoke(uint32(abi.CallForward)), opDrop,
		ask(abi.CallWrite, 1, freeAt, 1, 0)),
	abi.EventData:  code(num(0), num(0), get(3), num(1), invoke(uint32(abi.CallDeliver)), opDrop),
	abi.EventTimer: code(ask(abi.CallTimer, 1, 10)),
	abi.EventClose: code(ask(abi.CallReport, int32(abi.ReportEnded), 0, 0, 0, 0)),
}

// event is what is done at an event: the duty, but for one time in 16, and something
// before or after it.
func (m *moduleMaker) event(kind abi.Kind) []byte {
	return m.function(func() {
		if kind == abi.EventMessage { // its line has an end
			m.op(num(freeAt), num('\n'), 0x36, 2, 0)
		}
		// What there may be before OPEN is little, and one in 16 tries more.
		early := m.next(2) == 1
		if kind == abi.EventDescribe && !m.rarely() {
			m.op(duties[kind])
			return
		}
		if early {
			m.statements(2)
		}
		idle := m.rarely() && (kind != abi.EventClose || m.rarely()) // without its last word a host waits for 2 s
		if duty := duties[kind]; duty != nil && !idle {
			m.op(duty)
		}
		if !early {
			m.statements(3)
		}
		if kind == abi.EventMessage {
			m.op(num(int32(m.next(2))), opReturn)
		}
	}, 1)
}

func (m *moduleMaker) statements(depth int) {
	for range m.next(4) {
		m.statement(depth)
	}
}

// within fills a block; the branch that its last byte may be goes to its label 0.
func (m *moduleMaker) within(op int, fill func()) {
	m.op(op, voidBlock)
	m.labels++
	fill()
	m.labels--
	m.op(opEnd)
}

func (m *moduleMaker) statement(depth int) {
	kind := m.next(16)
	if depth <= 0 {
		kind %= 6
	}
	d := depth - 1
	switch kind {
	case 0, 1, 2:
		if m.call(d) {
			m.op(set(4))
		}
	case 3:
		m.expression(d)
		m.op(set(uint32(m.next(makerLocals))))
	case 4:
		m.address(d)
		m.expression(d)
		m.op(0x36, 2, 0)
	case 5:
		m.op(opening)
	case 6:
		m.expression(d)
		m.within(opIf, func() { m.statements(d) })
	case 7: // a loop that ends by itself
		m.op(num(int32(m.next(64))), set(7))
		m.within(opLoop, func() {
			m.statements(d)
			m.op(get(7), num(-1), opAdd, 0x22, 7, num(0), 0x4a, opBrIf, 0)
		})
	case 8: // one that may not
		m.within(opLoop, func() { m.statements(d); m.expression(d); m.op(opBrIf, 0) })
	case 9:
		m.within(opBlock, func() { m.statements(d); m.expression(d); m.branch(); m.statements(d) })
	case 10:
		m.expression(d)
		m.op(num(3), 0x71, 0x22, 4, get(4), opIndirect, typeOne, 0, set(5)) // the entry may be of another type, or none
	case 11:
		m.op(num(int32(m.next(32))), 0x40, 0, set(4))
	case 12:
		m.address(d)
		m.address(d)
		m.expression(d)
		m.op([]byte{opMisc, 0x0a + byte(m.next(2))})
		if m.out[len(m.out)-1] == 0x0a {
			m.op(0)
		}
		m.op(0)
	case 13:
		m.op(opNull, funcref, num(int32(m.next(64))), opMisc, 0x0f, 0, set(4))
	case 14:
		m.expression(d)
		m.op(invoke(m.helper(m.next(makerHelpers))), set(6))
	case 15:
		if m.rarely() {
			m.op(0x00)
		} else {
			m.expression(d)
			m.op(opReturn)
		}
	}
}

// branch takes an i32 and goes to one of the blocks around, or to one of two.
func (m *moduleMaker) branch() {
	to := m.next(m.labels)
	if m.next(2) == 0 {
		m.op(opBrIf, to)
		return
	}
	m.op(0x0e, 1, m.next(m.labels), to)
}

// address leaves one that is in memory, as a rule.
func (m *moduleMaker) address(depth int) {
	m.expression(depth)
	if !m.rarely() {
		m.op(num(0xfffc), 0x71)
	}
}

// constants are numbers that mean something in a host call.
var constants = []int32{
	0, 1, 2, 3, 4, 5, 6, 7, 10, 64, 128, 255, 256, 257, 258, 513, manifestAt, requestAt, freeAt, int32(len(mainRequest())),
	1 << 10, 16 << 10, 64 << 10, 128<<10 - 1, 1 << 20, 60_000, -1, -2, -1 << 31, 1<<31 - 1,
}

// call makes a host call, and reports whether it leaves a result. Its arguments are
// such as it takes, with other ones among them.
func (m *moduleMaker) call(depth int) bool {
	calls := abi.Calls()
	c := calls[m.next(len(calls))]
	usual := map[abi.Call][]int32{
		abi.CallOpen: {int32(abi.OpenStream), 0, requestAt, int32(len(mainRequest()))}, abi.CallTimer: {1, 10}, abi.CallLog: {1, freeAt, 64},
		abi.CallSave: {freeAt, 64}, abi.CallDeliverMem: {0, freeAt, 64, 0}, abi.CallWrite: {1, freeAt, 4096, 0}, abi.CallForward: {1, 0, 1, 0},
		abi.CallReport: {int32(abi.ReportDone), 1, 0, 0, 0}, abi.CallDeliver: {0, 0, 1, 0}, abi.CallTake: {0, freeAt, 64}, abi.CallScan: {0, '\n'},
	}[c]
	for n := range c.Params() {
		switch {
		case n < len(usual) && m.next(4) != 3:
			m.op(num(usual[n]))
		default:
			m.expression(depth)
		}
	}
	m.op(invoke(uint32(c)))
	return c.HasResult()
}

// expression leaves one i32.
func (m *moduleMaker) expression(depth int) {
	kind := m.next(10)
	if depth <= 0 {
		kind %= 5
	}
	d := depth - 1
	switch kind {
	case 0, 1:
		m.op(get(uint32(m.next(8))))
	case 2, 3:
		m.op(num(constants[m.next(len(constants))]))
	case 4:
		m.op(num(int32(int8(m.next(256)))))
	case 5:
		m.address(d)
		m.op(0x28, 2, 0)
	case 6:
		m.expression(d)
		m.expression(d)
		m.op(0x6a + m.next(15)) // arithmetic, division included
	case 7:
		m.expression(d)
		m.expression(d)
		m.op(0x46 + m.next(10))
	case 8:
		if !m.call(d) {
			m.op(num(0))
		}
	case 9:
		m.op(0x3f, 0)
	}
}
