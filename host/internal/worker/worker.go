// Package worker runs a guest in a process of its own, for plugins that one does
// not trust: what breaks out of its sandbox there, by a bug of the compiler say,
// finds a process that holds nothing, may open nothing and ends with its
// connection.
//
//	host                                          worker
//	 │  BEGIN(module)  ──────────────────────────►  │   limits, compiles, seals itself
//	 │  ◄───────────────────────────  RETURN        │
//	 │  EVENT(DATA, 257, 0, payload)  ───────────►  │
//	 │                                              │   take, scan: it has the payload
//	 │  ◄──────────────────  CALL(deliver, 0, 211)  │
//	 │  ANSWER(verdict, charge)  ────────────────►  │
//	 │  ◄───────────────────────────  RETURN(0)     │
//
// [Program] is the side of the host: a guest that package guest drives as it does
// any other, with the same errors and the same trace. [Serve] is the other side.
// They speak over the worker's stdin and stdout, in frames, one at a time: while an
// event runs the host answers, and between two events both are silent. What
// the guest says where no answer is wanted does not wait for one.
//
// # What crosses
//
// The module does, not its path; the payloads of events, but for sealed ones, of
// which only the length does; and what a host call points to in the guest's memory.
// Bytes that a guest forwards or delivers from its payload stay where they are: in
// the host.
//
// # Who trusts whom
//
// The worker trusts the host. The host takes the worker for an enemy: each frame is
// bounded before it is read, each field is checked, and handles, windows and
// states are held against what the host knows itself. Fuel is counted where the
// code runs, which may lie about it, so the host has an account of its own: for
// each call that it answers it takes the price and the bytes from the same budget,
// and an event that is not over in time ends the worker. Between events it has
// nothing to do, and one that uses the processor all the same is ended as well.
// Whatever is wrong, the process is killed and its connection ends with it, and
// nothing else does.
package worker

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"github.com/wharf-mcp/wharf/host/internal/confine"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// Program is a plugin that runs in workers, one for each connection. It implements
// [guest.Program], and may be used from any goroutine.
type Program struct {
	Binary []byte // of the plugin, which must not change

	// Command is a program with its arguments that passes its stdin and stdout to
	// Serve.
	Command []string

	// Cache keeps what a worker has compiled for the next one, by the Hash of the
	// binary.
	Cache *CodeCache
	Hash  string

	// EventTimeout is how long an event may take, beside what its budget is worth; 0 is
	// ten seconds.
	EventTimeout time.Duration

	tidied sync.Once // the cache, by the first connection
}

// Times that end a worker. They are for one that does not keep to its budget by
// itself: an honest one takes a hundredth of them.
const (
	defaultEventTimeout = 10 * time.Second
	startTime           = time.Minute // more, in which it compiles
	fuelsPerNano        = 1.0 / 50
)

// Lacks says, for people, what a worker has on this system that it has not where
// processes can be sealed. It is empty where they can.
func Lacks() string { return confine.Lacks(runtime.GOOS, runtime.GOARCH) }

// processPipe is a process as its machine sees it.
type processPipe interface {
	io.ReadWriter
	Kill()
	measured
	Ended() <-chan struct{}
	Reap() string
	Close()
}

// Start implements [guest.Program].
func (p *Program) Start(ctx context.Context, b guest.Callbacks) (guest.Machine, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if b.Now != nil || b.Random != nil {
		b.Now, b.Random = orReal(b.Now, b.Random)
	}
	program := process.Process{Command: p.Command[0], Args: slices.Clone(p.Command[1:])}
	piped, err := program.StartPiped()
	if err != nil {
		return nil, fmt.Errorf("start its worker process: %w", err)
	}
	m := newMachine(b, piped, p.eventTimeout())
	dir, leave := p.Cache.open(ctx, p.Hash)
	m.releaseCache = leave
	p.tidied.Do(p.Cache.tidy)
	stop := context.AfterFunc(ctx, piped.Kill)
	defer stop()
	err = m.start(&begin{
		pages: b.MemoryPages, remoteSources: b.Now != nil, observed: b.Observed != nil, cache: dir, module: p.Binary,
	})
	switch {
	case err == nil:
		return m, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	m.Close()
	return nil, err
}

func (p *Program) eventTimeout() time.Duration {
	if p.EventTimeout > 0 {
		return p.EventTimeout
	}
	return defaultEventTimeout
}

// newMachine returns the machine of a process that has just been started.
func newMachine(b guest.Callbacks, p processPipe, eventTimeout time.Duration) *machine {
	m := &machine{callbacks: b, pipe: p, eventTimeout: eventTimeout, exited: make(chan struct{}), releaseCache: func() {}}
	m.in = frames{in: bufio.NewReaderSize(p, 32<<10), most: m.bound}
	m.deadline = time.AfterFunc(time.Hour, m.expire)
	m.deadline.Stop()
	m.usage.start(p, m.kill)
	go m.reap()
	return m
}

// reap reaps the process when it is over, and reports an end that the host did not want.
func (m *machine) reap() {
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

// start has the worker begin. The caller closes the machine after an error.
func (m *machine) start(b *begin) error {
	m.budget, m.spent, m.starting = wasm.InitBudget, 0, true
	m.out = b.append(m.out)
	_, err := m.exchange(b.module, startTime)
	m.starting, m.out = false, nil
	return err
}

// orReal puts the real sources in the place of those that are missing.
func orReal(now func() time.Time, random io.Reader) (func() time.Time, io.Reader) {
	if now == nil {
		now = time.Now
	}
	if random == nil {
		random = rand.Reader
	}
	return now, random
}
