package wasm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// InstanceConfig configures one instance.
type InstanceConfig struct {
	Env         []string  // "NAME=value", all the environment it sees
	Stderr      io.Writer // gets what it writes to descriptors 1 and 2; nil drops it
	MemoryPages uint32    // pages of 64 KiB it may grow to; 0 means 256
	Owner       any       // returned by Owner, for host functions to find their way back

	Now    func() time.Time // its clocks; nil means the real ones
	Random io.Reader        // its randomness; nil means that of crypto/rand
}

const defaultMemoryPages = 256

// Instance is a running module: one memory, one set of globals. It belongs to
// one goroutine at a time, and host functions run on that goroutine.
type Instance struct {
	engine *Engine
	config InstanceConfig
	module api.Module
	memory api.Memory
	space  *reserved    // where memory lies; nil where it is on the heap
	shared *sharedPages // with the other instances of the program
	first  bool         // no other instance was there when it began
	ctx    callContext
	funcs  map[string]*Func

	fuel, budget, depth counter
	born                time.Time // a second before the instance began, where Now is given

	state   atomic.Int32
	used    int64
	pending *Trap // left by a host function that is about to stop the call
	dead    atomic.Pointer[Trap]
}

// The states of an instance. A Close during a call takes effect when the call ends:
// unmapping memory under native code would end the whole process.
const (
	idle = iota
	running
	closing
	closed
)

// Instantiate compiles m if that has not been done, and starts an instance: memory is set
// up and _initialize, if exported, is run under InitBudget. ctx bounds the
// waiting, not the instance.
func (m *Module) Instantiate(ctx context.Context, c InstanceConfig) (*Instance, error) {
	if c.MemoryPages == 0 {
		c.MemoryPages = defaultMemoryPages
	}
	if m.info.MinPages > c.MemoryPages {
		return nil, fmt.Errorf("%s: starts with %d pages of memory, %d are allowed", m.name, m.info.MinPages, c.MemoryPages)
	}
	in, err := m.start(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	if err := in.initialize(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: start: %w", m.name, err), in.Close())
	}
	return in, nil
}

// initialize runs _initialize, if the module exports it, and forgets it: its stack is as
// large as that of an event, and not needed again. Then most of the memory is the same as
// in other instances of the module, with which the instance shares it.
func (i *Instance) initialize() error {
	if f := i.Export(initialize); f != nil {
		if _, err := f.Call(InitBudget); err != nil {
			return err
		}
		delete(i.funcs, initialize)
	}
	if i.first {
		return nil
	}
	return i.share(true)
}

func (m *Module) start(ctx context.Context, c InstanceConfig) (*Instance, error) {
	code, err := m.code(ctx)
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	r, err := m.engine.retain()
	if err != nil {
		return nil, err
	}
	in := &Instance{engine: m.engine, shared: &m.shared, config: c, funcs: map[string]*Func{}}
	if c.Now != nil {
		in.born = c.Now().Add(-time.Second)
	}
	in.ctx = callContext{context.Background(), in}
	memory := allocator{pages: c.MemoryPages}
	room := experimental.WithMemoryAllocator(&in.ctx, &memory)
	if in.module, err = r.InstantiateModule(room, code, moduleConfig); err != nil {
		return nil, errors.Join(fmt.Errorf("start: %w", err), m.engine.release(1))
	}
	in.first = in.shared.join() == 0
	in.memory, in.space = in.module.Memory(), memory.made
	if m.engine.unmetered { // such a module pays for host calls alone
		fuel := new(unmetered)
		in.fuel, in.budget, in.depth = fuel, fuel, new(unmetered)
		return in, nil
	}
	in.fuel, in.budget, in.depth = in.global(fuelGlobal), in.global(budgetGlobal), in.global(depthGlobal)
	return in, nil
}

// counter is one of the globals that the meter adds.
type counter interface {
	Get() uint64
	Set(uint64)
}

// unmetered is a counter of a module that was not metered, and has no such globals.
type unmetered uint64

func (l *unmetered) Get() uint64  { return uint64(*l) }
func (l *unmetered) Set(v uint64) { *l = unmetered(v) }

// moduleConfig is how wazero sets up an instance. wazero's own WASI is not offered, so
// the source of randomness is never read: it is set because wazero would otherwise
// make one of five kilobytes for each instance.
var moduleConfig = wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(rand.Reader)

func (i *Instance) global(name string) api.MutableGlobal {
	return i.module.ExportedGlobal(name).(api.MutableGlobal)
}

// Owner is what the instance was configured with.
func (i *Instance) Owner() any { return i.config.Owner }

// Used is the fuel the last call took, host prices included.
func (i *Instance) Used() int64 { return i.used }

// Left is the fuel that the call under way has left.
func (i *Instance) Left() int64 { return int64(i.fuel.Get()) }

// Dead is the trap that ended the instance, or nil.
func (i *Instance) Dead() *Trap { return i.dead.Load() }

// Pages is the size of the instance's memory in pages of 64 KiB.
func (i *Instance) Pages() uint32 { return i.memory.Size() >> 16 }

// Charge takes units of fuel from the call under way, for work a host function
// is about to do. When they are not there it does not return.
func (i *Instance) Charge(units int64) {
	left := int64(i.fuel.Get()) - max(units, 0)
	i.fuel.Set(uint64(left))
	if left < 0 {
		i.stop(&Trap{Kind: TrapFuel})
	}
}

// Trap ends the call under way, for a host function whose arguments break the ABI.
// It does not return.
func (i *Instance) Trap(err error) { i.stop(&Trap{Kind: TrapHost, Err: err}) }

func (i *Instance) stop(t *Trap) {
	i.pending = t
	panic(stop{})
}

// Memory returns a view of size bytes at ptr, or false when they are not all
// inside. The view is valid until the host function returns.
func (i *Instance) Memory(ptr, size uint32) ([]byte, bool) {
	return i.memory.Read(ptr, size)
}

// Rest gives back the stacks of the instance, which have nothing on them between
// two calls, and the memory that it has in common with others of its module, where
// the system allows that. It changes nothing that the module could see, and costs
// about as much as a few events: it is for an instance that had nothing to do for
// a while. Only the owner calls it, between two calls. After an error the instance
// is dead.
func (i *Instance) Rest() error {
	if err := i.enter(); err != nil {
		return err
	}
	defer i.leave()
	for _, f := range i.funcs {
		f.native = nil
	}
	return i.share(false)
}

func (i *Instance) share(fresh bool) error {
	if i.space == nil {
		return nil
	}
	if err := i.shared.share(i.space.used(), fresh); err != nil {
		t := &Trap{Kind: TrapOther, Err: err}
		i.dead.Store(t)
		return t
	}
	return nil
}

// Close gives the instance's memory back. Only the owner calls it; further
// calls do nothing. During a call it takes effect when the call ends.
func (i *Instance) Close() error {
	if i.state.CompareAndSwap(idle, closed) {
		return i.free()
	}
	i.state.CompareAndSwap(running, closing)
	return nil
}

func (i *Instance) free() error {
	err := i.module.Close(context.Background())
	i.shared.leave()
	return errors.Join(err, i.engine.release(1))
}

// enter claims the instance for one call.
func (i *Instance) enter() error {
	if t := i.dead.Load(); t != nil {
		return t
	}
	if i.state.CompareAndSwap(idle, running) {
		return nil
	}
	if i.state.Load() == running {
		return errBusy
	}
	return ErrClosed
}

var errBusy = errors.New("called while a call is under way")

// leave gives the instance back, and closes it if that was asked for meanwhile.
func (i *Instance) leave() {
	if !i.state.CompareAndSwap(running, idle) {
		i.state.Store(closed)
		_ = i.free() // Close has returned already; freeing memory does not fail
	}
}
