package extism

import (
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

	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// memoryPages is how many pages of 64 KiB a plugin may have, and as many for the kernel.
const memoryPages = 512

// Config configures an Engine for one kind of plugins. M is what their manifests are read into.
type Config[M any] struct {
	CacheDir string      // of metered modules and native code; "" keeps nothing
	Unkept   func(error) // gets, once, the reason why nothing is kept there; may be nil

	Kind     string // for errors: "auth provider"
	Describe string // the export that returns the manifest
	Call     string // the export that [Plugin.Call] calls

	Fuel     int64         // what a plugin may compute in one call, in units of about a nanosecond
	Time     time.Duration // of a call in Extism's kernel, which is not metered: a plugin can keep it busy, and can corrupt its memory, so that it never returns
	MaxReply int           // bytes that a call may return

	// Manifest reads the manifest of a plugin, and returns an error for one that is not of the contract.
	Manifest func([]byte) (*M, error)

	// Blame returns the error of a plugin that broke something while it did what doing says. nil names the
	// plugin and what it did.
	Blame func(name, doing string, err error) error

	// Compiled, if not nil, is called each time after a plugin is compiled and before it first
	// runs. Its error is that of the load.
	Compiled func() error
}

// ErrClosed is the error of a load and of a call after the Close of the engine.
var ErrClosed = errors.New("closed")

// Violation describes a violation of the contract, without the name of the plugin.
type Violation string

func (v Violation) Error() string { return string(v) }

// Violationf returns a violation.
func Violationf(format string, args ...any) error { return Violation(fmt.Sprintf(format, args...)) }

// Engine loads plugins of one kind. It is safe for concurrent use.
type Engine[M any] struct {
	config  Config[M]
	runtime *wasm.Extism
	ctx     context.Context // ends with Close, and ends the loads
	cancel  context.CancelFunc
	work    sync.WaitGroup // loads in progress

	mu      sync.Mutex
	loads   map[string]*load[M]                // in progress, by name, hash and source
	plugins map[string]weak.Pointer[Plugin[M]] // loaded, by name, hash and source
	modules map[*module[M]]bool                // of the plugins, until they are closed
	closed  bool
}

// load is the loading of one plugin. Several callers may wait for it.
type load[M any] struct {
	done   chan struct{}
	plugin *Plugin[M]
	err    error
}

// NewEngine checks the cache directory. It compiles nothing.
func NewEngine[M any](c Config[M]) (*Engine[M], error) {
	e := &Engine[M]{config: c, loads: map[string]*load[M]{}, plugins: map[string]weak.Pointer[Plugin[M]]{}, modules: map[*module[M]]bool{}}
	var err error
	if e.runtime, err = e.open(wasm.Source{Dir: c.CacheDir}); err != nil {
		return nil, err
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e, nil
}

// open returns the runtime for the modules of a source.
func (e *Engine[M]) open(s wasm.Source) (*wasm.Extism, error) {
	return wasm.NewExtism(wasm.ExtismConfig{
		CacheDir:         s.Dir,
		CacheUnavailable: e.config.Unkept,
		Precompiled:      s.Precompiled,
		Limits:           s.Limits,
		Budget:           e.config.Fuel,
		Exports:          []string{e.config.Describe, e.config.Call},
	})
}

// Close ends all plugins. It waits for running calls, which are bounded, and for loads up to
// [wasm.CloseGrace]: a longer compilation is freed when it ends. Later loads and calls fail.
func (e *Engine[M]) Close() error {
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
func (e *Engine[M]) end() error {
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
// goes on. Every error names the plugin; a refused module is a *wasm.Refusal. The caller must not
// change binary afterwards. The engine keeps a plugin as long as the caller refers to it.
func (e *Engine[M]) Load(ctx context.Context, name string, binary []byte) (*Plugin[M], error) {
	return e.LoadFrom(ctx, name, binary, wasm.Source{})
}

// LoadFrom is Load for a module whose native code comes from a source.
func (e *Engine[M]) LoadFrom(ctx context.Context, name string, binary []byte, s wasm.Source) (*Plugin[M], error) {
	l, err := e.begin(name, binary, s)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", e.config.Kind, name, err)
	}
	select {
	case <-l.done:
		return l.plugin, l.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%s %s: load: %w", e.config.Kind, name, context.Cause(ctx))
	}
}

// begin returns the load of a module: a running one, a finished one, or a new one.
func (e *Engine[M]) begin(name string, binary []byte, s wasm.Source) (*load[M], error) {
	hash := wasm.Hash(binary)
	key := fmt.Sprintf("%s %s %v", name, hash, s)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	if l := e.loads[key]; l != nil {
		return l, nil
	}
	l := &load[M]{done: make(chan struct{})}
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
		l.plugin = &Plugin[M]{m}
		maps.DeleteFunc(e.plugins, func(_ string, p weak.Pointer[Plugin[M]]) bool { return p.Value() == nil })
		e.plugins[key], e.modules[m] = weak.Make(l.plugin), true
		runtime.AddCleanup(l.plugin, e.release, m)
	})
	return l, nil
}

// release closes the module of a plugin to which no reference is left, unless the engine has closed
// it. The garbage collector calls it.
func (e *Engine[M]) release(m *module[M]) {
	e.mu.Lock()
	open := e.modules[m]
	delete(e.modules, m)
	e.mu.Unlock()
	if open {
		_ = m.close()
	}
}

// load compiles a module, whose hash is given, and reads its manifest.
func (e *Engine[M]) load(name, hash string, binary []byte, s wasm.Source) (*module[M], error) {
	m := &module[M]{config: &e.config, name: name, runtime: e.runtime, owned: s != (wasm.Source{}), seats: make(chan struct{}, maxSeats)}
	if m.owned {
		own, err := e.open(s)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", e.config.Kind, name, err)
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
		if out, err = m.call(e.ctx, nil, e.config.Describe, nil); err == nil {
			m.manifest, err = e.config.Manifest(out)
		}
		if err != nil {
			err = m.blame("describe", err)
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
func (e *Engine[M]) compile(m *module[M], hash string, binary []byte) error {
	if _, set := os.LookupEnv(loud); set {
		return fmt.Errorf("%s %s: compile: %s is set in the environment: it shows what plugins print, and they hold secrets; unset it", e.config.Kind, m.name, loud)
	}
	metered, kept, err := m.runtime.Prepare(m.name, hash, binary)
	if err != nil {
		return fmt.Errorf("%s %w", e.config.Kind, err)
	}
	manifest := extism.Manifest{
		Wasm:    []extism.Wasm{extism.WasmData{Data: metered, Name: "main"}}, // without a hash, which Extism would compare with its own of the same bytes
		Memory:  &extism.ManifestMemory{MaxPages: memoryPages, MaxHttpResponseBytes: 0, MaxVarBytes: 0},
		Timeout: uint64(e.config.Time.Milliseconds()),
	}
	compile := func() (*extism.CompiledPlugin, error) {
		c := extism.PluginConfig{RuntimeConfig: m.runtime.RuntimeConfig(), EnableWasi: true}
		return extism.NewCompiledPlugin(m.runtime.CompileContext(e.ctx), manifest, c, nil)
	}
	if m.compiled, err = compile(); err != nil && m.runtime.CacheFailed(err) {
		m.compiled, err = compile()
	}
	if err != nil {
		return fmt.Errorf("%s %s: compile: %w", e.config.Kind, m.name, m.runtime.NotCompiled(err))
	}
	if !kept && len(metered) > largeModule {
		debug.FreeOSMemory()
	}
	return nil
}
