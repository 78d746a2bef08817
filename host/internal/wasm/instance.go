package wasm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// ErrClosed is the error of an Engine or an Instance that is used after its Close.
var ErrClosed = errors.New("closed")

// InstanceConfig configures one instance.
type InstanceConfig struct {
	Env         []string  // "NAME=value", all the environment it sees
	Stderr      io.Writer // gets what it writes to descriptors 1 and 2; nil drops it
	MemoryPages uint32    // pages of 64 KiB it may grow to; 0 means 256
	Owner       any       // returned by Owner, which host functions call to learn whose instance it is

	Now    func() time.Time // its clocks; nil means the real ones
	Random io.Reader        // its randomness; nil means that of crypto/rand
}

const defaultMemoryPages = 256

// Instance is a running module: one memory, one set of globals. It belongs to
// one goroutine at a time, and host functions run on that goroutine.
type Instance struct {
	config InstanceConfig
	forget func() error // tells the engine that the instance is gone
	module api.Module
	memory api.Memory
	space  *reserved    // the address space of memory; nil if memory is on the heap
	shared *sharedPages // with the other instances of the program
	first  bool         // no other instance existed when it began
	ctx    callContext
	funcs  map[string]*Func

	fuel, budget, depth counter
	born                time.Time // a second before the instance began, if Now is given

	state   atomic.Int32
	used    int64
	pending *Trap // set by a host function that stops the call
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

// counter is one of the globals that the meter adds.
type counter interface {
	Get() uint64
	Set(uint64)
}

// unmetered is a counter of a module that was not metered, and has no such globals.
type unmetered uint64

func (l *unmetered) Get() uint64  { return uint64(*l) }
func (l *unmetered) Set(v uint64) { *l = unmetered(v) }

// Owner returns the Owner of the instance's configuration.
func (i *Instance) Owner() any { return i.config.Owner }

// Used returns the fuel that the last call took, host prices included.
func (i *Instance) Used() int64 { return i.used }

// Left returns the fuel that the running call has left.
func (i *Instance) Left() int64 { return int64(i.fuel.Get()) }

// Dead returns the trap that ended the instance, or nil.
func (i *Instance) Dead() *Trap { return i.dead.Load() }

// Pages returns the size of the instance's memory, in pages of 64 KiB.
func (i *Instance) Pages() uint32 { return i.memory.Size() >> 16 }

// Charge takes units of fuel from the running call, for work that a host function does next. If
// there is not enough fuel, it does not return.
func (i *Instance) Charge(units int64) {
	left := int64(i.fuel.Get()) - max(units, 0)
	i.fuel.Set(uint64(left))
	if left < 0 {
		i.stop(&Trap{Kind: TrapFuel})
	}
}

// Trap ends the running call, for a host function whose arguments break the ABI. It does not
// return.
func (i *Instance) Trap(err error) { i.stop(&Trap{Kind: TrapHost, Err: err}) }

func (i *Instance) stop(t *Trap) {
	i.pending = t
	panic(stop{})
}

// Memory returns a view of size bytes at ptr, or false if they are not all inside the memory. The
// view is valid until the host function returns.
func (i *Instance) Memory(ptr, size uint32) ([]byte, bool) {
	return i.memory.Read(ptr, size)
}

// Rest frees the stacks of the instance, which are empty between two calls. If the system allows
// that, it also frees the memory that is equal in other instances of the module. It changes nothing
// that the module could see, and costs about as much as a few events, so it is for an instance that
// was idle for a while. Only the owner calls it, between two calls. After an error the instance is
// dead.
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

// Close frees the instance's memory. Only the owner calls it; further calls do nothing. During a
// call it takes effect when the call ends.
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
	return errors.Join(err, i.forget())
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

// leave releases the instance after a call, and closes it if Close was called meanwhile.
func (i *Instance) leave() {
	if !i.state.CompareAndSwap(running, idle) {
		i.state.Store(closed)
		_ = i.free() // Close has returned already; freeing memory does not fail
	}
}

// Func is an exported function of one instance.
type Func struct {
	in     *Instance
	name   string
	native api.Function // has a stack of 10 KiB; nil from a rest until the next call
	params int
	result bool
	stack  []uint64 // arguments, then results
}

// Export returns the exported function of that name, or nil. It looks up each function once,
// because wazero makes a stack for each function that it returns.
func (i *Instance) Export(name string) *Func {
	if f, ok := i.funcs[name]; ok {
		return f
	}
	native := i.module.ExportedFunction(name)
	if native == nil {
		return nil
	}
	d := native.Definition()
	params, results := len(d.ParamTypes()), len(d.ResultTypes())
	f := &Func{
		in: i, name: name, native: native,
		params: params, result: results > 0, stack: make([]uint64, max(params, results)),
	}
	i.funcs[name] = f
	return f
}

// Call runs the function with budget units of fuel. A call that traps ends the
// instance; its error is a *Trap. Call allocates nothing unless it fails, or is
// the first after a rest.
func (f *Func) Call(budget int64, args ...uint32) (result uint32, err error) {
	in := f.in
	if len(args) != f.params {
		return 0, fmt.Errorf("called with %d arguments, takes %d", len(args), f.params)
	}
	if err := in.enter(); err != nil {
		return 0, err
	}
	if f.native == nil {
		f.native = in.module.ExportedFunction(f.name)
	}
	in.budget.Set(uint64(budget))
	for i, a := range args {
		f.stack[i] = uint64(a)
	}
	err = f.native.CallWithStack(&in.ctx, f.stack)
	in.used = budget - int64(in.fuel.Get())
	if err != nil {
		t := in.trapOf(err)
		in.dead.Store(t)
		err = t
	} else if f.result {
		result = uint32(f.stack[0])
	}
	in.leave()
	return result, err
}

// trapOf reads the error of a call. The meter traps with unreachable as well,
// and leaves its reason in a global below zero.
func (i *Instance) trapOf(err error) *Trap {
	if t := i.pending; t != nil {
		i.pending = nil
		return t
	}
	kind := trapKind(err)
	if kind == TrapOther {
		return &Trap{Kind: kind, Err: err}
	}
	return &Trap{Kind: i.metered(kind)}
}

func (i *Instance) metered(kind TrapKind) TrapKind {
	switch {
	case kind != TrapUnreachable:
		return kind
	case int64(i.fuel.Get()) < 0:
		return TrapFuel
	case int32(i.depth.Get()) < 0:
		return TrapDepth
	default:
		return kind
	}
}

// callContext is the context of every call into one instance. It has no
// deadline and is never done: fuel ends calls.
type callContext struct {
	context.Context
	in *Instance
}

type instanceKey struct{}

func (c *callContext) Value(key any) any {
	if _, ok := key.(instanceKey); ok {
		return c.in
	}
	return nil
}

func instanceOf(ctx context.Context) *Instance {
	if c, ok := ctx.(*callContext); ok {
		return c.in
	}
	return ctx.Value(instanceKey{}).(*Instance)
}
