package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"
)

// Module is a binary that was validated and metered. It holds no native code until
// it is compiled, which Instantiate does.
type Module struct {
	name string
	*program
}

// program is what all Modules of one binary share.
type program struct {
	engine *Engine
	hash   string
	info   Info
	shared sharedPages

	mu       sync.Mutex
	metered  []byte        // until compiled
	done     chan struct{} // made by the first caller of code, closed when native code is there
	compiled wazero.CompiledModule
	err      error
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
	if p == nil {
		var err error
		if p, err = e.program(name, hash, binary); err != nil {
			return nil, err
		}
	}
	return &Module{name, p}, nil
}

// program makes the shared part of a module. Two goroutines may both do that for one
// binary; the result of the first to finish is kept.
func (e *Engine) program(name, hash string, binary []byte) (*program, error) {
	p := preparation{cache: e.cache, limits: e.limits, budget: EventBudget, precompiled: e.precompiled, unmetered: e.unmetered}
	m, metered, err := p.prepare(name, hash, binary, func(m *image) { m.validate(e.abi) })
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if first := e.programs[hash]; first != nil {
		return first, nil
	}
	made := &program{engine: e, hash: hash, info: m.info(len(binary)), metered: metered}
	e.programs[hash] = made
	return made, nil
}

// preparation says how an Engine or an Extism makes metered modules.
type preparation struct {
	cache       *cacheDir
	limits      Limits
	budget      int64 // fuel of a call, if the host sets none
	loopCost    int64 // see image
	precompiled bool  // as in Config
	unmetered   bool  // as in Config
}

// prepare reads and validates a binary and returns its metered form, from the cache
// if that has one. validate adds what it finds to the image's findings.
func (p preparation) prepare(name, hash string, binary []byte, validate func(*image)) (*image, []byte, error) {
	if p.precompiled {
		if err := checkCache(p.cache); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	metered, cached := p.cache.get(hash)
	if p.precompiled && !cached && !p.unmetered {
		return nil, nil, fmt.Errorf("%s: %w", name, ErrNotCompiled)
	}
	m, err := read(binary, p.limits)
	if err != nil {
		return nil, nil, unreadable(name, err)
	}
	m.loopCost = p.loopCost
	if cached {
		err := m.matches(metered)
		if err != nil && p.precompiled {
			return nil, nil, fmt.Errorf("%s: %w", name, &SpoiledError{err})
		}
		cached = err == nil // one that does not match is made again
	}
	if !cached {
		m.scanAll()
	}
	validate(m)
	if err := m.findings.refusal(name); err != nil {
		return nil, nil, err
	}
	switch {
	case p.unmetered:
		metered = bytes.Clone(binary)
	case !cached:
		metered = m.meter(p.budget)
		p.cache.put(hash, metered)
	}
	return m, metered, nil
}

// Hash is the SHA-256 of a module, in lower case hexadecimal.
func Hash(binary []byte) string {
	sum := sha256.Sum256(binary)
	return hex.EncodeToString(sum[:])
}

// Name is the name the module was loaded under.
func (m *Module) Name() string { return m.name }

// Hash is the SHA-256 of the original binary, in hexadecimal.
func (p *program) Hash() string { return p.hash }

// Info says what the module is.
func (p *program) Info() Info { return p.info }

// Compile makes native code, or finds it in the cache. That is done once for all
// callers, by a goroutine of its own: it goes on when ctx ends the waiting.
func (m *Module) Compile(ctx context.Context) error {
	_, err := m.code(ctx)
	if err != nil {
		return fmt.Errorf("%s: compile: %w", m.name, err)
	}
	return nil
}

func (p *program) code(ctx context.Context) (wazero.CompiledModule, error) {
	p.mu.Lock()
	if p.done == nil {
		if err := p.begin(); err != nil {
			p.mu.Unlock()
			return nil, err
		}
	}
	p.mu.Unlock()
	select {
	case <-p.done:
		return p.compiled, p.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin starts the compilation. The caller holds p.mu.
func (p *program) begin() error {
	e := p.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	e.work.Add(1)
	e.live++
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
	return nil
}

// forget takes a module off those that are loaded.
func (e *Engine) forget(p *program) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.programs, p.hash)
}
