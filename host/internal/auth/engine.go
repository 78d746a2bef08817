package auth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"sync"
	"time"
	"weak"

	extism "github.com/extism/go-sdk"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// bounds are those of one call of a provider.
type bounds struct {
	// fuel counts what the provider computes. A unit is about a nanosecond.
	fuel int64

	// time is for Extism's kernel, which is not metered. A provider can keep it
	// busy, and can write all over its memory, so that it never comes to an end.
	time time.Duration
}

// generous lets a provider in Go work through as large a state as there may be,
// which takes it a second. One that only loops is stopped after five.
var generous = bounds{fuel: Fuel, time: 10 * time.Second}

const memoryPages = 512 // of 64 KiB, for a provider, and as many for the kernel

// errClosed is the error of using an Engine after its Close.
var errClosed = errors.New("closed")

// EngineConfig is what an Engine is made of.
type EngineConfig struct {
	CacheDir string      // of metered modules and native code; "" keeps nothing
	Unkept   func(error) // is told, once, why nothing is kept there; nil is not

	// Print is told what providers print and log, for their authors. They may
	// print secrets, so nil, which drops it, is right except for authors. It is
	// called from many goroutines.
	Print func(provider, text string)

	// Fuel is what a provider may compute in one call; 0 is what it may for a server.
	Fuel int64

	// Compiled is called each time that a provider is compiled, before it runs for
	// the first time; nil is not. Its error is that of the load.
	Compiled func() error
}

// Fuel is what a provider may compute in one call, in units of about a nanosecond.
const Fuel = 4_000_000_000

// Engine loads providers. It is safe for concurrent use.
type Engine struct {
	config  EngineConfig
	bounds  bounds
	runtime *wasm.Extism
	ctx     context.Context // ends with Close, and with it the loads
	cancel  context.CancelFunc
	work    sync.WaitGroup // loads under way

	mu      sync.Mutex
	loads   map[string]*load                // under way, by name, hash and source
	plugins map[string]weak.Pointer[Plugin] // loaded, by the same
	modules map[*module]bool                // of the plugins, until they are closed
	closed  bool
}

// load is the loading of a provider, for all that wait for it.
type load struct {
	done   chan struct{}
	plugin *Plugin
	err    error
}

// NewEngine checks the cache directory. Nothing is compiled.
func NewEngine(c EngineConfig) (*Engine, error) {
	b := generous
	if c.Fuel > 0 {
		b.fuel = c.Fuel
	}
	return openEngine(c, b)
}

func openEngine(c EngineConfig, b bounds) (*Engine, error) {
	e := &Engine{config: c, bounds: b, loads: map[string]*load{}, plugins: map[string]weak.Pointer[Plugin]{}, modules: map[*module]bool{}}
	var err error
	if e.runtime, err = e.open(wasm.Source{Dir: c.CacheDir}); err != nil {
		return nil, err
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e, nil
}

// open makes what runs the modules of a source.
func (e *Engine) open(s wasm.Source) (*wasm.Extism, error) {
	return wasm.NewExtism(wasm.ExtismConfig{
		CacheDir:         s.Dir,
		CacheUnavailable: e.config.Unkept,
		Precompiled:      s.Precompiled,
		Limits:           s.Limits,
		Budget:           e.bounds.fuel,
		Exports:          []string{step.ExportDescribe, step.ExportStep},
	})
}

// Close ends all providers. Steps under way are waited for, which are bounded, and
// loads for [wasm.CloseGrace]: what is compiled for longer is given back when that
// is over. Nothing new can be loaded or stepped.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	if !wasm.Settle(&e.work) {
		go func() {
			e.work.Wait()
			_ = e.end() // Close has returned: no caller would get the error
		}()
		return nil
	}
	return e.end()
}

// end gives back all that was loaded, when nothing is loaded any more.
func (e *Engine) end() error {
	e.mu.Lock()
	modules := e.modules
	e.modules = nil
	e.mu.Unlock()
	var errs []error
	for m := range modules {
		errs = append(errs, m.close())
	}
	return errors.Join(append(errs, e.runtime.Close())...)
}

// Load validates a module, compiles it on first use, and asks it to describe itself.
// Concurrent calls share one compilation, which goes on when ctx ends, because it cannot
// be stopped; the caller then returns. Every error names the provider; a module that is
// not accepted is a *wasm.Refusal. binary must not be changed afterwards. The engine keeps
// a plugin for as long as the caller refers to it or to one of its providers.
func (e *Engine) Load(ctx context.Context, name string, binary []byte) (*Plugin, error) {
	return e.LoadFrom(ctx, name, binary, wasm.Source{})
}

// LoadFrom is Load of a module whose native code comes from a source.
func (e *Engine) LoadFrom(ctx context.Context, name string, binary []byte, s wasm.Source) (*Plugin, error) {
	l, err := e.begin(name, binary, s)
	if err != nil {
		return nil, fmt.Errorf("auth provider %s: %w", name, err)
	}
	select {
	case <-l.done:
		return l.plugin, l.err
	case <-ctx.Done():
		return nil, fmt.Errorf("auth provider %s: load: %w", name, context.Cause(ctx))
	}
}

func (e *Engine) begin(name string, binary []byte, s wasm.Source) (*load, error) {
	key := fmt.Sprintf("%s %s %v", name, wasm.Hash(binary), s)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed
	}
	if l := e.loads[key]; l != nil {
		return l, nil
	}
	l := &load{done: make(chan struct{})}
	if l.plugin = e.plugins[key].Value(); l.plugin != nil {
		close(l.done)
		return l, nil
	}
	e.loads[key] = l
	e.work.Go(func() {
		defer close(l.done)
		m, err := e.load(name, binary, s)
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.loads, key) // after an error the next may try again: the cause may be the machine's
		if l.err = err; err == nil {
			l.plugin = e.keep(key, m)
		}
	})
	return l, nil
}

// keep makes the plugin of a module, which closes the module when nothing refers to the
// plugin any more. The caller holds e.mu.
func (e *Engine) keep(key string, m *module) *Plugin {
	p := &Plugin{m}
	maps.DeleteFunc(e.plugins, func(_ string, p weak.Pointer[Plugin]) bool { return p.Value() == nil })
	e.plugins[key], e.modules[m] = weak.Make(p), true
	runtime.AddCleanup(p, e.release, m)
	return p
}

// release closes a module, unless the engine has closed it.
func (e *Engine) release(m *module) {
	e.mu.Lock()
	open := e.modules[m]
	delete(e.modules, m)
	e.mu.Unlock()
	if open {
		_ = m.close() // the garbage collector calls this: no caller would get the error
	}
}

func (e *Engine) load(name string, binary []byte, s wasm.Source) (*module, error) {
	runtime := e.runtime
	if s != (wasm.Source{}) {
		own, err := e.open(s)
		if err != nil {
			return nil, fmt.Errorf("auth provider %s: %w", name, err)
		}
		runtime = own
	}
	p, err := e.make(runtime, name, binary)
	if err != nil {
		if runtime != e.runtime {
			err = errors.Join(err, runtime.Close())
		}
		return nil, err
	}
	if e.config.Compiled != nil {
		err = e.config.Compiled()
	}
	if err == nil {
		err = p.describe(e.ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// make looks at a module and compiles it.
func (e *Engine) make(runtime *wasm.Extism, name string, binary []byte) (*module, error) {
	metered, hash, err := runtime.Prepare(name, binary)
	if err != nil {
		return nil, fmt.Errorf("auth provider %w", err)
	}
	p, err := e.compile(runtime, name, metered, hash)
	if err != nil {
		return nil, fmt.Errorf("auth provider %s: compile: %w", name, runtime.NotCompiled(err))
	}
	return p, nil
}

// loud makes Extism write what its modules print to our own output, past
// everything that we set.
const loud = "EXTISM_ENABLE_WASI_OUTPUT"

func (e *Engine) compile(runtime *wasm.Extism, name string, metered []byte, hash string) (*module, error) {
	if _, set := os.LookupEnv(loud); set {
		return nil, errors.New(loud + " is set in the environment: it shows what providers print, and they hold secrets; unset it")
	}
	manifest := extism.Manifest{
		Wasm:    []extism.Wasm{extism.WasmData{Data: metered, Hash: hash, Name: "main"}},
		Memory:  &extism.ManifestMemory{MaxPages: memoryPages, MaxHttpResponseBytes: 0, MaxVarBytes: 0},
		Timeout: uint64(e.bounds.time.Milliseconds()),
	}
	compile := func() (*extism.CompiledPlugin, error) {
		c := extism.PluginConfig{RuntimeConfig: runtime.RuntimeConfig(), EnableWasi: true}
		return extism.NewCompiledPlugin(runtime.CompileContext(e.ctx), manifest, c, nil)
	}
	compiled, err := compile()
	if err != nil && runtime.CacheFailed(err) {
		compiled, err = compile()
	}
	if err != nil {
		return nil, err
	}
	return &module{name: name, engine: e, runtime: runtime, compiled: compiled, seats: make(chan struct{}, maxSeats)}, nil
}
