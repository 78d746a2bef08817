package wasm

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Module is a binary that was validated and metered. It holds no native code until
// it is compiled, which Instantiate does.
type Module struct {
	name string
	*program
}

// Load validates binary, meters it (or finds the metered form in the cache) and
// returns it as a module called name in errors. A module that will not be run
// is a *Refusal, which lists every reason. Nothing is compiled, and binary is
// not kept.
func (e *Engine) Load(ctx context.Context, name string, binary []byte) (*Module, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	hash := Hash(binary)
	e.mu.Lock()
	p, closed := e.programs[hash], e.closed
	e.mu.Unlock()
	if closed {
		return nil, fmt.Errorf("plugin engine: %w", ErrClosed)
	}
	if p != nil {
		return &Module{name, p}, nil
	}
	m, metered, err := e.prepare(name, hash, binary, func(m *image) { m.validate(e.abi) })
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if p = e.programs[hash]; p == nil { // else another goroutine was faster
		p = &program{engine: e, hash: hash, minPages: m.info().MinPages, metered: metered}
		e.programs[hash] = p
	}
	return &Module{name, p}, nil
}

// Name returns the name under which the module was loaded.
func (m *Module) Name() string { return m.name }

// Hash returns the SHA-256 of the original binary, in hexadecimal.
func (p *program) Hash() string { return p.hash }

// Compile makes native code, or finds it in the cache. A goroutine of its own does that once for
// all callers, and goes on if ctx ends first.
func (m *Module) Compile(ctx context.Context) error {
	_, err := m.code(ctx)
	if err != nil {
		return fmt.Errorf("%s: compile: %w", m.name, err)
	}
	return nil
}

// LoadCompiled is Load, and then Compile.
func (e *Engine) LoadCompiled(ctx context.Context, name string, binary []byte) (*Module, error) {
	m, err := e.Load(ctx, name, binary)
	if err == nil {
		err = m.Compile(ctx)
	}
	return m, err
}

// code returns the native code. The first call makes it.
func (p *program) code(ctx context.Context) (wazero.CompiledModule, error) {
	e := p.engine
	p.mu.Lock()
	if p.done == nil {
		e.mu.Lock()
		if e.closed {
			e.mu.Unlock()
			p.mu.Unlock()
			return nil, ErrClosed
		}
		e.work.Add(1)
		e.live++
		e.mu.Unlock()
		p.done = make(chan struct{})
		go func() {
			defer e.work.Done()
			defer e.release(1)
			defer close(p.done)
			if p.compiled, p.err = e.compile(p.metered); p.err != nil {
				e.forget(p) // the next Load tries again: the cause may be the machine's
			}
			p.metered = nil
		}()
	}
	p.mu.Unlock()
	select {
	case <-p.done:
		return p.compiled, p.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// forget removes a module from those that are loaded.
func (e *Engine) forget(p *program) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.programs, p.hash)
}

// Instantiate compiles m if that has not been done, and starts an instance: memory is set
// up and _initialize, if exported, is run under InitBudget. ctx bounds the
// waiting, not the instance.
func (m *Module) Instantiate(ctx context.Context, c InstanceConfig) (*Instance, error) {
	c.MemoryPages = cmp.Or(c.MemoryPages, defaultMemoryPages)
	if m.minPages > c.MemoryPages {
		return nil, fmt.Errorf("%s: starts with %d pages of memory, %d are allowed", m.name, m.minPages, c.MemoryPages)
	}
	in, err := m.start(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	if f := in.Export(initialize); f != nil {
		_, err = f.Call(InitBudget)
		delete(in.funcs, initialize) // its stack is as large as that of an event, and not needed again
	}
	if err == nil && !in.first && in.memory.Size() >= shareEarly { // most of it is now the same as in other instances of the module
		err = in.share(true)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: start: %w", m.name, err), in.Close())
	}
	return in, nil
}

// shareEarly is the size of memory, in bytes, from which an instance shares memory before its first
// rest. Sharing less would take a tenth of a connection's time and save little.
const shareEarly = 1 << 20

func (m *Module) start(ctx context.Context, c InstanceConfig) (*Instance, error) {
	code, err := m.code(ctx)
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	r, err := m.engine.retain()
	if err != nil {
		return nil, err
	}
	in := &Instance{forget: func() error { return m.engine.release(1) }, shared: &m.shared, config: c, funcs: map[string]*Func{}}
	if c.Now != nil {
		in.born = c.Now().Add(-time.Second)
	}
	in.ctx = callContext{context.Background(), in}
	memory := allocator{pages: c.MemoryPages}
	room := experimental.WithMemoryAllocator(&in.ctx, &memory)
	if in.module, err = r.InstantiateModule(room, code, moduleConfig); err != nil {
		return nil, errors.Join(fmt.Errorf("start: %w", err), in.forget())
	}
	in.first = in.shared.join() == 0
	in.memory, in.space = in.module.Memory(), memory.made
	if m.engine.unmetered { // such a module pays for host calls alone
		fuel := new(unmetered)
		in.fuel, in.budget, in.depth = fuel, fuel, new(unmetered)
		return in, nil
	}
	global := func(name string) counter { return in.module.ExportedGlobal(name).(api.MutableGlobal) }
	in.fuel, in.budget, in.depth = global(fuelGlobal), global(budgetGlobal), global(depthGlobal)
	return in, nil
}

// moduleConfig is how wazero sets up an instance. wazero's own WASI is not offered, so
// the source of randomness is never read: it is set because wazero would otherwise
// make one of five kilobytes for each instance.
var moduleConfig = wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(rand.Reader)
