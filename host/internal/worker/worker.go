// Package worker runs a guest in a process of its own, for plugins that the user does not trust. A
// guest that breaks out of its sandbox, for example by a bug of the compiler, is then in a process
// that holds nothing, may open nothing and ends with its connection.
//
//	host                                          worker
//	 │  BEGIN(module)  ──────────────────────────►  │   limits, compiles, seals itself
//	 │  ◄───────────────────────────  RETURN        │
//	 │  EVENT(DATA, 257, 0, payload)  ───────────►  │
//	 │                                              │   take, scan: it has the payload
//	 │  ◄──────────────────  CALL(deliver, 0, 211)  │
//	 │  ANSWER(result, charge)   ────────────────►  │
//	 │  ◄───────────────────────────  RETURN(0)     │
//
// [Program] is the side of the host: package guest drives it like any other guest, with the same
// errors and the same trace. [Serve] is the other side. They exchange frames over the worker's
// stdin and stdout, one at a time. While an event runs, the host answers; between two events both
// are silent. A host call without a result does not wait for an answer.
//
// # What crosses
//
// The module crosses, and not its path. The payload of an event crosses, but of a sealed
// one only the length. So do the bytes that a host call points to in the guest's memory.
// Bytes that a guest forwards or delivers from its payload stay in the host.
//
// # Who trusts whom
//
// The worker trusts the host. The host treats the worker as hostile: it bounds each frame before it
// reads it, checks each field, and compares handles, windows and states with its own. The worker
// counts fuel, but may lie. So the host counts too: each call that it answers takes its price and
// its bytes from the same budget, and an event that takes too long ends the worker. A worker that
// uses the processor between two events is ended as well. After any fault the process is killed,
// and nothing but its connection ends.
package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"github.com/wharf-mcp/wharf/host/internal/confine"
	"github.com/wharf-mcp/wharf/host/internal/guest"
)

// Program is a plugin that runs in workers, one for each connection. It implements
// [guest.Program], and may be used from any goroutine.
type Program struct {
	Binary []byte // of the plugin, which must not change

	// Command is a program, with arguments, that passes its stdin and stdout to Serve.
	Command []string

	// Cache keeps what a worker has compiled for the next one, by the Hash of the binary.
	Cache *CodeCache
	Hash  string

	// EventTimeout is how long an event may take, in addition to the time of its budget; 0 is ten
	// seconds.
	EventTimeout time.Duration

	tidied sync.Once // done for the cache by the first connection
}

// defaultEventTimeout ends a worker that does not observe its budget. An honest worker takes a
// hundredth of it.
const defaultEventTimeout = 10 * time.Second

// Lacks says, for people, what a worker on this system may do that a sealed one may not. It returns
// "" if processes can be sealed.
func Lacks() string { return confine.Lacks(runtime.GOOS, runtime.GOARCH) }

// Start implements [guest.Program].
func (p *Program) Start(ctx context.Context, b guest.Callbacks) (guest.Executor, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	remoteSources := b.Now != nil || b.Random != nil
	if remoteSources && b.Now == nil {
		b.Now = time.Now
	}
	if remoteSources && b.Random == nil {
		b.Random = rand.Reader
	}
	program := process.Process{Command: p.Command[0], Args: slices.Clone(p.Command[1:])}
	piped, err := program.StartPiped()
	if err != nil {
		return nil, fmt.Errorf("start its worker process: %w", err)
	}
	m := newExecutor(b, piped, cmp.Or(max(p.EventTimeout, 0), defaultEventTimeout))
	dir, leave := p.Cache.open(ctx, p.Hash)
	m.releaseCache = leave
	p.tidied.Do(p.Cache.tidy)
	stop := context.AfterFunc(ctx, piped.Kill)
	defer stop()
	err = m.start(&begin{
		pages: b.MemoryPages, remoteSources: remoteSources, observed: b.Observed != nil, cache: dir, module: p.Binary,
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
