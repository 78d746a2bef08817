package wasm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// CloseGrace is how long Close waits for a compilation under way, which ends with
// the function that is being compiled.
const CloseGrace = 500 * time.Millisecond

// Config configures an Engine.
type Config struct {
	// CacheDir keeps metered modules and native code; "" keeps nothing. It is
	// made if missing. A folder that others may write to, or that belongs to another
	// user, is refused: what is read from it runs as native code of the host. A
	// folder that cannot be written to keeps nothing; see CacheUnavailable.
	CacheDir string

	// CacheUnavailable, unless nil, is called at most once, with the reason why
	// compiled code cannot be kept in CacheDir. The engine holds its lock meanwhile:
	// the function must return at once and must not call the engine.
	CacheUnavailable func(error)

	// Precompiled takes metered modules and native code from CacheDir, which another
	// process has filled, and makes none: a module that is not there, or cannot be
	// used, is ErrNotCompiled.
	Precompiled bool

	ABI    ABI
	Limits Limits // zero fields take their defaults

	// Interpreted runs modules without native code, and takes no CacheDir. Unmetered
	// runs them as they are, so that they may never return. Both exist to compare
	// their behaviour with that of compiled and metered modules.
	Interpreted bool
	Unmetered   bool
}

// Engine loads, compiles and runs modules. All its methods are safe for concurrent use.
// It has no goroutine except while it compiles.
type Engine struct {
	preparer
	abi         ABI
	interpreted bool
	cacheErr    error // why CacheDir is not used; nil if it is
	unavailable func(error)

	ctx    context.Context // ends with Close; compilation stops between two functions
	cancel context.CancelFunc
	work   sync.WaitGroup // compilations under way

	mu       sync.Mutex
	runtime  wazero.Runtime // made when first needed
	native   wazero.CompilationCache
	programs map[string]*program // by hash of the original
	live     int                 // instances not yet closed, and compilations under way
	closed   bool
}

// program is shared by all Modules of one binary.
type program struct {
	engine *Engine
	hash   string
	shared sharedPages

	minPages uint32 // of memory, that an instance starts with

	mu       sync.Mutex
	metered  []byte        // until compiled
	done     chan struct{} // made by the first caller of code, closed when native code is there
	compiled wazero.CompiledModule
	err      error
}

// NewEngine checks the cache directory and returns. Nothing is compiled.
// The engine outlives ctx.
func NewEngine(ctx context.Context, c Config) (*Engine, error) {
	e := &Engine{
		preparer: preparer{limits: c.Limits, budget: EventBudget, precompiled: c.Precompiled, unmetered: c.Unmetered},
		abi:      c.ABI, interpreted: c.Interpreted, unavailable: onceUnavailable(c.CacheUnavailable), programs: map[string]*program{},
	}
	if c.Interpreted && c.CacheDir != "" {
		return nil, errors.New("plugin cache: an interpreter keeps nothing; leave CacheDir empty")
	}
	var err error
	if e.cacheErr, err = e.open(c.CacheDir); err != nil {
		return nil, err
	}
	e.ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return e, nil
}

// Close stops running compilations, and frees all native code once the last instance is closed. No
// module can be loaded or instantiated afterwards. A compilation that is not over within CloseGrace
// ends later, and its native code is freed then.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	Settle(&e.work)
	return e.release(0)
}

// Settle waits for work, for CloseGrace at most, and reports whether it has ended.
func Settle(work *sync.WaitGroup) bool {
	over := make(chan struct{})
	go func() {
		defer close(over)
		work.Wait()
	}()
	grace := time.NewTimer(CloseGrace)
	defer grace.Stop()
	select {
	case <-over:
		return true
	case <-grace.C:
		return false
	}
}

// release subtracts n instances or compilations from the count. If the engine is closed and the
// count is zero, it closes the runtime.
func (e *Engine) release(n int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.live -= n
	if !e.closed || e.live > 0 || e.runtime == nil {
		return nil
	}
	err := e.runtime.Close(context.Background())
	if e.native != nil {
		err = errors.Join(err, e.native.Close(context.Background()))
	}
	e.runtime, e.native = nil, nil
	return err
}

// retain adds an instance to the count before it runs.
func (e *Engine) retain() (wazero.Runtime, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, fmt.Errorf("plugin engine: %w", ErrClosed)
	}
	r, err := e.machine()
	if err == nil {
		e.live++
	}
	return r, err
}

// machine returns the runtime, which is made on first use: it takes a millisecond, which
// a command without plugins does not need. The caller holds e.mu.
func (e *Engine) machine() (wazero.Runtime, error) {
	if e.runtime != nil {
		return e.runtime, nil
	}
	initWazeroVersion()
	config := wazero.NewRuntimeConfig()
	if e.interpreted {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	config = config.
		WithCoreFeatures(api.CoreFeaturesV2).
		WithDebugInfoEnabled(false)
	if e.cache != nil {
		native, err := wazero.NewCompilationCacheWithDir(e.cache.native)
		if err == nil {
			e.native = native
			config = config.WithCompilationCache(native)
		} else {
			e.cacheErr = err
		}
	}
	if e.cacheErr != nil {
		e.unavailable(e.cacheErr)
	}
	r := wazero.NewRuntimeWithConfig(e.ctx, config)
	err := errors.Join(offer(e.ctx, r, wasi), offer(e.ctx, r, e.abi.hostFuncs()))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("host functions: %w", err), r.Close(context.Background()))
	}
	e.runtime = r
	return r, nil
}

// initWazeroVersion makes wazero determine its own version. wazero stores the version in a variable
// without a lock, so two engines that are made at the same time would race. No folder can have this
// path, so none is made.
var initWazeroVersion = sync.OnceFunc(func() { _, _ = wazero.NewCompilationCacheWithDir("\x00") })

// compile turns metered code into native code, or only looks it up in the cache if the
// engine is Precompiled. Only the engine's Close stops it, and only between two functions.
// If the code cannot be written to the cache, wazero returns an error but keeps the code
// in memory, so that the second attempt is cheap.
func (e *Engine) compile(binary []byte) (wazero.CompiledModule, error) {
	e.mu.Lock()
	r, err := e.machine()
	e.mu.Unlock()
	if err != nil {
		return nil, err
	}
	m, err := r.CompileModule(e.CompileContext(e.ctx), binary)
	if err != nil && !e.precompiled && isFileError(err) {
		e.unavailable(err)
		m, err = r.CompileModule(e.CompileContext(e.ctx), binary)
	}
	return m, e.NotCompiled(err)
}
