package worker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// processPipe is the process of a worker, as its executor uses it.
type processPipe interface {
	io.ReadWriter
	Kill()
	measured
	Ended() <-chan struct{}
	Reap() string
	Close()
}

// executor runs a guest in a worker, on the side of the host.
type executor struct {
	callbacks    guest.Callbacks
	pipe         processPipe
	eventTimeout time.Duration
	in           frames
	out          []byte                 // the frame to be sent
	deadline     *time.Timer            // ends an event that takes too long
	closing      atomic.Bool            // the host wants the end of the process
	killed       atomic.Pointer[string] // why the host ended it, if it did not want that
	usage        usageWatch
	closed       sync.Once
	exited       chan struct{} // closed when the process is reaped
	exitReason   string        // how it ended; set before exited is closed
	releaseCache func()        // releases the process's lock in the cache

	endErr   error // why no event can run any more
	used     int64
	pages    uint32
	starting bool

	// The state of the running event.
	budget int64
	spent  int64 // of the budget, as counted by the host
	asked  call
	left   int64 // fuel of the guest: what the worker has reported, less what the host has charged since
	charge int64 // to be sent with the answer
	trap   *wasm.Trap
}

var _ guest.Executor = (*executor)(nil)

// newExecutor returns the executor of a process that was just started.
func newExecutor(b guest.Callbacks, p processPipe, eventTimeout time.Duration) *executor {
	m := &executor{callbacks: b, pipe: p, eventTimeout: eventTimeout, exited: make(chan struct{}), releaseCache: func() {}}
	m.in = frames{in: bufio.NewReaderSize(p, 32<<10), most: m.bound}
	m.deadline = time.AfterFunc(time.Hour, func() {
		m.kill(fmt.Sprintf("did not come to an end within %v, and was killed", eventTimeout))
	})
	m.deadline.Stop()
	m.usage.start(p, m.kill)
	go m.reap()
	return m
}

// reap reaps the process when it has ended, and reports an end that the host did not want.
func (m *executor) reap() {
	<-m.pipe.Ended()
	m.exitReason = m.pipe.Reap()
	if why := m.killed.Load(); why != nil {
		m.exitReason = *why
	}
	close(m.exited)
	if !m.closing.Load() {
		m.callbacks.Lost(errors.New("its worker process " + m.exitReason))
	}
}

// start makes the worker begin. After an error the caller closes the executor.
func (m *executor) start(b *begin) error {
	m.budget, m.spent, m.starting = wasm.InitBudget, 0, true
	m.out = b.append(m.out)
	_, err := m.exchange(b.module, startTime)
	m.starting, m.out = false, nil
	return err
}

// Run implements [guest.Executor].
func (m *executor) Run(budget int64, e guest.Event) (int32, error) {
	if m.endErr != nil {
		return 0, m.endErr
	}
	m.budget, m.spent = budget, 0
	frame := event{budget: budget, Event: e}
	m.out = frame.append(m.out)
	return m.exchange(e.Payload, 0)
}

// Used implements [guest.Executor].
func (m *executor) Used() int64 { return m.used }

// Pages implements [guest.Executor].
func (m *executor) Pages() uint32 { return m.pages }

// Rest implements [guest.Executor].
func (m *executor) Rest() error {
	m.in.body, m.out = nil, nil
	return nil
}

// Close implements [guest.Executor]. It kills the worker, which has nothing to clean up.
func (m *executor) Close() error {
	m.closed.Do(func() {
		m.closing.Store(true)
		m.pipe.Kill()
		<-m.exited
		m.deadline.Stop()
		m.usage.stop()
		m.pipe.Close()
		m.releaseCache()
	})
	return nil
}

// startTime is how much longer than an event the start may take, because the plugin is compiled in
// it.
const startTime = time.Minute

// fuelsPerNano is the fewest units of its budget that an event uses in a nanosecond.
const fuelsPerNano = 1.0 / 50

// exchange sends the frame in out, whose body ends with more, and answers the worker until the
// event is over.
func (m *executor) exchange(more []byte, extra time.Duration) (int32, error) {
	m.deadline.Reset(m.eventTimeout + extra + time.Duration(float64(m.budget)/fuelsPerNano))
	m.usage.begin()
	defer m.usage.end()
	err := m.send(more)
	end := eventEnd{}
	if err == nil {
		err = m.serve(&end)
	}
	m.deadline.Stop()
	if err == nil && end.trap == nil {
		return end.result, nil
	}
	if err == nil {
		err = end.trap
	}
	m.endErr = m.explainEnd(err)
	return 0, m.endErr
}

func (m *executor) send(more []byte) error {
	if len(more) <= cap(m.out)-len(m.out) || len(more) < 4<<10 {
		m.out, more = append(m.out, more...), nil
	}
	_, err := m.pipe.Write(m.out)
	if err == nil && len(more) > 0 {
		_, err = m.pipe.Write(more)
	}
	return err
}

// serve answers the worker until its event ends.
func (m *executor) serve(end *eventEnd) error {
	for {
		t, body, err := m.in.next()
		if err != nil {
			return err
		}
		switch t {
		case tagReturn, tagTrap:
			return m.onEnd(end, t, body)
		case tagCall:
			err = m.onCall(body)
		case tagObserved:
			err = m.onObserved(body)
		case tagAsk:
			err = m.answerSource(body)
		case tagStderr:
			if err = m.spend(int64(len(body))); err == nil {
				m.callbacks.Stderr.Write(body)
			}
		case tagRefused:
			if err = violates("it refuses a plugin that it has run"); m.starting {
				err = &RefusedError{why: cleantext.Line(string(body), maxText)}
			}
		}
		if err != nil {
			return err
		}
	}
}

// bound returns how long the body of a frame with this tag may be. known is false for a tag that a
// worker never sends.
func (m *executor) bound(t tag) (size uint32, known bool) {
	size, known = bounds[t]
	if t == tagCall {
		size += m.callbacks.MemoryPages << 16
	}
	return size, known
}

// onEnd reads how an event ended. It is a violation if the worker claims more memory or
// fuel than the plugin may have.
func (m *executor) onEnd(end *eventEnd, t tag, body []byte) error {
	if err := end.decode(t, body); err != nil {
		return err
	}
	switch {
	case end.pages > m.callbacks.MemoryPages:
		return violates("it says that the plugin has %d pages of memory, where it may have %d", end.pages, m.callbacks.MemoryPages)
	case end.used < 0 || end.trap == nil && end.used > m.budget:
		return violates("it says that an event took %d units of fuel, of %d", end.used, m.budget)
	}
	m.used, m.pages = max(end.used, m.spent), end.pages
	return nil
}

// spend takes units from the host's count for the event.
func (m *executor) spend(units int64) error {
	if m.spent += units; m.spent > m.budget {
		return &wasm.Trap{Kind: wasm.TrapFuel}
	}
	return nil
}

// stop is the value with which a trap panics, to leave the function that answers a host call.
type stop struct{}

// onCall answers a host call.
func (m *executor) onCall(body []byte) (err error) {
	if err := m.asked.decode(body); err != nil {
		return err
	}
	op := m.asked.op
	if m.asked.left < 0 || m.asked.left > m.budget {
		return violates("it says that the plugin has %d units of fuel left, of %d", m.asked.left, m.budget)
	}
	if err := m.spend(guest.Price(op)); err != nil {
		return err
	}
	m.left, m.charge = m.asked.left, 0
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case stop:
			err = m.trap
		default:
			panic(r)
		}
	}()
	result := m.callbacks.Answer(m, op, m.asked.args[:op.Params()])
	if !op.HasResult() {
		return nil
	}
	told := answer{result: result, charge: m.charge}
	m.out = told.append(m.out)
	return m.send(nil)
}

// Memory implements [guest.Caller]. The host has only those bytes of the guest's memory that the
// call names.
func (m *executor) Memory(ptr, size uint32) ([]byte, bool) {
	at := guest.PointerArg(m.asked.op)
	if at < 0 || !m.asked.named || m.asked.args[at] != ptr || m.asked.args[at+1] != size {
		return nil, false
	}
	return m.asked.carried, true
}

// Charge implements [guest.Caller].
func (m *executor) Charge(units int64) {
	units = max(units, 0)
	m.left -= units
	m.charge += units
	if err := m.spend(units); err != nil || m.left < 0 {
		m.stop(&wasm.Trap{Kind: wasm.TrapFuel})
	}
}

// Trap implements [guest.Caller].
func (m *executor) Trap(err error) { m.stop(&wasm.Trap{Kind: wasm.TrapHost, Err: err}) }

func (m *executor) stop(t *wasm.Trap) {
	m.trap = t
	panic(stop{})
}

// onObserved reports a call that the worker has answered.
func (m *executor) onObserved(body []byte) error {
	var l observed
	if err := l.decode(body); err != nil {
		return err
	}
	if m.callbacks.Observed == nil {
		return violates("it reports a call that it was not asked to report")
	}
	m.asked.op, m.asked.named = l.op, false // the host has no bytes of the guest's memory
	m.callbacks.Observed(l.op, l.args[:l.op.Params()], l.result)
	return m.spend(guest.Price(l.op))
}

// sourcePrice is the price of one reading of the clock, or of the first byte of randomness: half of
// the guest's price.
const sourcePrice = 100

// answerSource answers a guest whose time and randomness are recorded.
func (m *executor) answerSource(body []byte) error {
	f := fields{rest: body}
	n := f.u32()
	switch err := f.end(false); {
	case err != nil:
		return err
	case m.callbacks.Now == nil:
		return violates("it asks for the time, which it has")
	case n > maxRandom:
		return violates("it asks for %d bytes of randomness at once", n)
	}
	if err := m.spend(sourcePrice + int64(n)); err != nil {
		return err
	}
	m.out = beginFrame(m.out, tagSource)
	if n == 0 {
		m.out = binary.LittleEndian.AppendUint64(m.out, uint64(m.callbacks.Now().UnixNano()))
	} else {
		m.out = append(m.out, make([]byte, n)...)
		if _, err := io.ReadFull(m.callbacks.Random, m.out[headSize:]); err != nil {
			return &wasm.Trap{Kind: wasm.TrapHost, Err: err}
		}
	}
	m.out = endFrame(m.out, 0)
	return m.send(nil)
}

// kill ends the process. The callback Lost gets why.
func (m *executor) kill(why string) {
	m.killed.CompareAndSwap(nil, &why)
	m.pipe.Kill()
}

// exitGrace is how long a silent worker may take to end.
const exitGrace = time.Second

// explainEnd closes the executor, and returns the reason: an act of the guest or of its worker, or
// the end of the process.
func (m *executor) explainEnd(err error) error {
	switch {
	case errors.As(err, new(*wasm.Trap)), errors.As(err, new(*RefusedError)):
	case errors.As(err, new(*violation)):
		err = fmt.Errorf("its worker process broke the rules, and was killed: %w", err)
	default:
		awaitExit(m.exited)
		m.Close()
		err = errors.New("its worker process " + m.exitReason)
	}
	m.Close()
	if m.starting {
		return fmt.Errorf("start: %w", err)
	}
	return err
}

// awaitExit waits until a process that is ending has ended, but no longer than exitGrace.
func awaitExit(exited <-chan struct{}) {
	limit := time.NewTimer(exitGrace)
	defer limit.Stop()
	select {
	case <-exited:
	case <-limit.C:
	}
}
