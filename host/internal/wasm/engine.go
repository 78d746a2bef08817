package wasm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// ErrClosed is the error of using an Engine or an Instance after its Close.
var ErrClosed = errors.New("closed")

var errNoFolder = errors.New("no folder is named")

// CloseGrace is how long Close waits for a compilation under way, which ends with
// the function that is being compiled.
const CloseGrace = 500 * time.Millisecond

// Config is what an Engine is made of.
type Config struct {
	// CacheDir keeps metered modules and native code; "" keeps nothing. It is
	// made if missing. One that others may write to, or that belongs to another
	// user, is refused: what is read from it runs as native code of the host. One
	// that cannot be written to keeps nothing.
	CacheDir string

	// Unkept is told, once, why what is compiled is not kept where CacheDir says;
	// nil is not. It is called while the engine is at a stand, and returns at once.
	Unkept func(error)

	// Precompiled takes metered modules and native code from CacheDir, which another
	// process has filled, and makes none: a module that is not there, or cannot be
	// used, is ErrNotCompiled.
	Precompiled bool

	Surface Surface
	Limits  Limits // zero fields take their defaults

	// Interpreted runs modules without native code, and takes no CacheDir. Unmetered
	// runs them as they are, so that they may never return. Both are there to be
	// compared with.
	Interpreted bool
	Unmetered   bool
}

// Engine loads, compiles and runs modules. One serves a whole host; all its
// methods are safe for concurrent use. It holds no goroutine except while it
// compiles.
type Engine struct {
	surface Surface
	limits  Limits
	shelf   *shelf // nil keeps nothing
	bare    error  // why there is no shelf, where there was to be one
	unkept  unkept

	interpreted, unmetered, precompiled bool

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

// NewEngine checks the cache directory and returns. Nothing is compiled.
// The engine outlives ctx.
func NewEngine(ctx context.Context, c Config) (*Engine, error) {
	e := &Engine{
		surface: c.Surface, limits: c.Limits.filled(), programs: map[string]*program{},
		unkept: unkept{hear: c.Unkept}, interpreted: c.Interpreted, unmetered: c.Unmetered, precompiled: c.Precompiled,
	}
	switch {
	case c.CacheDir == "":
	case c.Interpreted:
		return nil, errors.New("plugin cache: an interpreter makes nothing that is kept; name no folder")
	default:
		var err error
		switch e.shelf, err = openShelf(c.CacheDir, e.limits, EventBudget); {
		case err == nil:
		case ofDisk(err):
			e.bare = err
		default:
			return nil, fmt.Errorf("plugin cache: %w", err)
		}
	}
	if e.precompiled && e.shelf == nil {
		return nil, &SpoiledError{cmp.Or(e.bare, errNoFolder)}
	}
	e.ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return e, nil
}

// Close ends compilations under way and gives back all native code once the
// last instance is closed. Nothing new can be loaded or instantiated. A compilation
// that is not over within CloseGrace ends later, and its native code is given back
// then.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel()
	Settle(&e.work)
	return e.release(0)
}

// Settle waits for what is under way for CloseGrace at most, and reports whether it
// was over by then.
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

// release takes n instances or compilations off the count, and closes what they ran
// on when the engine is closed and they were the last.
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

// retain counts an instance that is about to run.
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

// machine returns the runtime, made on first use: that costs a millisecond
// that a command without plugins should not pay. The caller holds e.mu.
func (e *Engine) machine() (wazero.Runtime, error) {
	if e.runtime != nil {
		return e.runtime, nil
	}
	learnVersion()
	config := wazero.NewRuntimeConfig()
	if e.interpreted {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	config = config.
		WithCoreFeatures(api.CoreFeaturesV2).
		WithDebugInfoEnabled(false)
	if e.shelf != nil {
		native, err := wazero.NewCompilationCacheWithDir(e.shelf.native)
		if err == nil {
			e.native = native
			config = config.WithCompilationCache(native)
		} else {
			e.bare = err
		}
	}
	if e.bare != nil {
		e.unkept.tell(e.bare)
	}
	r := wazero.NewRuntimeWithConfig(e.ctx, config)
	err := errors.Join(offer(e.ctx, r, wasi), offer(e.ctx, r, e.surface.hostFuncs()))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("host functions: %w", err), r.Close(context.Background()))
	}
	e.runtime = r
	return r, nil
}

// learnVersion has wazero find out its own version. It keeps that in a variable that
// it writes without a lock, so that two engines that are made at once would race. The
// path cannot be a folder: nothing is made.
var learnVersion = sync.OnceFunc(func() { _, _ = wazero.NewCompilationCacheWithDir("\x00") })

// compile turns metered code into native code. It cannot be cut short except
// between functions, by the engine's own Close. Code that cannot be kept is an
// error to wazero, which has it by then: the second time it is there.
func (e *Engine) compile(binary []byte) (wazero.CompiledModule, error) {
	e.mu.Lock()
	r, err := e.machine()
	e.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if e.precompiled {
		return e.lookUp(r, binary)
	}
	m, err := r.CompileModule(withWorkers(e.ctx), binary)
	if err != nil && ofDisk(err) {
		e.unkept.tell(err)
		m, err = r.CompileModule(withWorkers(e.ctx), binary)
	}
	return m, err
}

// lookUp takes native code from the cache.
func (e *Engine) lookUp(r wazero.Runtime, binary []byte) (wazero.CompiledModule, error) {
	m, err := r.CompileModule(lookedUp(), binary)
	if err != nil {
		return nil, missing(err)
	}
	return m, nil
}
