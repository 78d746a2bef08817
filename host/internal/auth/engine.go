package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
	"weak"

	extism "github.com/extism/go-sdk"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// Bounds of one call of a provider. A provider in Go processes the largest state within a second.
// One that only loops is stopped after about five seconds.
const (
	Fuel = 4_000_000_000 // what it may compute, in units of about a nanosecond

	// callTime bounds a call in Extism's kernel, which is not metered. A provider can keep the
	// kernel busy, and can corrupt its memory, so that the kernel never returns.
	callTime = 10 * time.Second

	memoryPages = 512 // of 64 KiB, for a provider, and as many for the kernel
)

// EngineConfig configures an Engine.
type EngineConfig struct {
	CacheDir string      // of metered modules and native code; "" keeps nothing
	Unkept   func(error) // gets, once, the reason why nothing is kept there; may be nil

	// Fuel is what a provider may use in one call; 0 means the constant Fuel.
	Fuel int64

	// Compiled, if not nil, is called each time after a provider is compiled and before it first
	// runs. Its error is that of the load.
	Compiled func() error
}

// Engine loads providers. It is safe for concurrent use.
type Engine struct {
	config  EngineConfig
	time    time.Duration // how long a call may take
	runtime *wasm.Extism
	ctx     context.Context // ends with Close, and ends the loads
	cancel  context.CancelFunc
	work    sync.WaitGroup // loads in progress

	mu      sync.Mutex
	loads   map[string]*load                // in progress, by name, hash and source
	plugins map[string]weak.Pointer[Plugin] // loaded, by name, hash and source
	modules map[*module]bool                // of the plugins, until they are closed
	closed  bool
}

// load is the loading of one provider. Several callers may wait for it.
type load struct {
	done   chan struct{}
	plugin *Plugin
	err    error
}

// NewEngine checks the cache directory. It compiles nothing.
func NewEngine(c EngineConfig) (*Engine, error) {
	c.Fuel = cmp.Or(c.Fuel, Fuel)
	e := &Engine{config: c, time: callTime, loads: map[string]*load{}, plugins: map[string]weak.Pointer[Plugin]{}, modules: map[*module]bool{}}
	var err error
	if e.runtime, err = e.open(wasm.Source{Dir: c.CacheDir}); err != nil {
		return nil, err
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e, nil
}

// open returns the runtime for the modules of a source.
func (e *Engine) open(s wasm.Source) (*wasm.Extism, error) {
	return wasm.NewExtism(wasm.ExtismConfig{
		CacheDir:         s.Dir,
		CacheUnavailable: e.config.Unkept,
		Precompiled:      s.Precompiled,
		Limits:           s.Limits,
		Budget:           e.config.Fuel,
		Exports:          []string{step.ExportDescribe, step.ExportStep},
	})
}

// Close ends all providers. It waits for running steps, which are bounded, and for loads up to
// [wasm.CloseGrace]: a longer compilation is freed when it ends. Later loads and steps fail.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	if !wasm.Settle(&e.work) {
		go func() {
			e.work.Wait()
			_ = e.end() // Close has returned, so no caller would get the error
		}()
		return nil
	}
	return e.end()
}

// end frees everything that was loaded. No load may be running.
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

// Load validates a module, compiles it on first use, and reads its manifest. Concurrent calls share
// one compilation. When ctx ends, the caller returns, but the compilation, which cannot be stopped,
// goes on. Every error names the provider; a refused module is a *wasm.Refusal. The caller must not
// change binary afterwards. The engine keeps a plugin as long as the caller refers to it or to one
// of its providers.
func (e *Engine) Load(ctx context.Context, name string, binary []byte) (*Plugin, error) {
	return e.LoadFrom(ctx, name, binary, wasm.Source{})
}

// LoadFrom is Load for a module whose native code comes from a source.
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

// begin returns the load of a module: a running one, a finished one, or a new one.
func (e *Engine) begin(name string, binary []byte, s wasm.Source) (*load, error) {
	hash := wasm.Hash(binary)
	key := fmt.Sprintf("%s %s %v", name, hash, s)
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
		m, err := e.load(name, hash, binary, s)
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.loads, key) // so that the next load tries again: the machine may be the cause
		if l.err = err; err != nil {
			return
		}
		l.plugin = &Plugin{m}
		maps.DeleteFunc(e.plugins, func(_ string, p weak.Pointer[Plugin]) bool { return p.Value() == nil })
		e.plugins[key], e.modules[m] = weak.Make(l.plugin), true
		runtime.AddCleanup(l.plugin, e.release, m)
	})
	return l, nil
}

// release closes the module of a plugin to which no reference is left, unless the engine has closed
// it. The garbage collector calls it.
func (e *Engine) release(m *module) {
	e.mu.Lock()
	open := e.modules[m]
	delete(e.modules, m)
	e.mu.Unlock()
	if open {
		_ = m.close()
	}
}

// load compiles a module, whose hash is given, and reads its manifest.
func (e *Engine) load(name, hash string, binary []byte, s wasm.Source) (*module, error) {
	m := &module{name: name, runtime: e.runtime, owned: s != (wasm.Source{}), seats: make(chan struct{}, maxSeats)}
	if m.owned {
		own, err := e.open(s)
		if err != nil {
			return nil, fmt.Errorf("auth provider %s: %w", name, err)
		}
		m.runtime = own
	}
	err := e.compile(m, hash, binary)
	if err != nil {
		if m.owned {
			err = errors.Join(err, m.runtime.Close())
		}
		return nil, err
	}
	if e.config.Compiled != nil {
		err = e.config.Compiled()
	}
	if err == nil {
		var out []byte
		if out, err = m.call(e.ctx, nil, step.ExportDescribe, nil); err == nil {
			m.manifest, err = ReadManifest(out)
		}
		if err != nil {
			err = blame(name, "describe", err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

// loud is the variable that makes Extism write the output of its modules to ours, whatever we set.
const loud = "EXTISM_ENABLE_WASI_OUTPUT"

// largeModule is the size, in bytes, from which the memory of a compilation is freed at once: a
// provider in Go of a few megabytes takes a hundred. A person takes minutes to sign in, in which
// nothing else would start the garbage collector.
const largeModule = 1 << 20

// compile meters and compiles a module.
func (e *Engine) compile(m *module, hash string, binary []byte) error {
	if _, set := os.LookupEnv(loud); set {
		return fmt.Errorf("auth provider %s: compile: %s is set in the environment: it shows what providers print, and they hold secrets; unset it", m.name, loud)
	}
	metered, kept, err := m.runtime.Prepare(m.name, hash, binary)
	if err != nil {
		return fmt.Errorf("auth provider %w", err)
	}
	manifest := extism.Manifest{
		Wasm:    []extism.Wasm{extism.WasmData{Data: metered, Name: "main"}}, // without a hash, which Extism would compare with its own of the same bytes
		Memory:  &extism.ManifestMemory{MaxPages: memoryPages, MaxHttpResponseBytes: 0, MaxVarBytes: 0},
		Timeout: uint64(e.time.Milliseconds()),
	}
	compile := func() (*extism.CompiledPlugin, error) {
		c := extism.PluginConfig{RuntimeConfig: m.runtime.RuntimeConfig(), EnableWasi: true}
		return extism.NewCompiledPlugin(m.runtime.CompileContext(e.ctx), manifest, c, nil)
	}
	if m.compiled, err = compile(); err != nil && m.runtime.CacheFailed(err) {
		m.compiled, err = compile()
	}
	if err != nil {
		return fmt.Errorf("auth provider %s: compile: %w", m.name, m.runtime.NotCompiled(err))
	}
	if !kept && len(metered) > largeModule {
		debug.FreeOSMemory()
	}
	return nil
}
