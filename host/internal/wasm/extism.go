package wasm

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// ExtismConfig configures an Extism.
type ExtismConfig struct {
	CacheDir         string      // as in Config
	CacheUnavailable func(error) // as in Config
	Precompiled      bool        // as in Config
	Limits           Limits      // zero fields take their defaults
	Budget           int64       // fuel of one call of an export
	Exports          []string    // the functions a module must have; they take nothing, and return nothing or an i32
}

// Extism validates and meters the modules that the Extism library runs, as an Engine
// does its own, and makes the settings for the wazero runtime that Extism brings
// along. It is safe for concurrent use, and outlives what was made with its settings.
type Extism struct {
	preparer
	exports     []string
	unavailable func(error)

	mu         sync.Mutex
	native     wazero.CompilationCache
	unwritable wazero.CompilationCache // replaced because it could not be written to; nil for none
}

// NewExtism checks that the cache directory can be used. It compiles nothing.
func NewExtism(c ExtismConfig) (*Extism, error) {
	initWazeroVersion()
	x := &Extism{
		preparer: preparer{limits: c.Limits, budget: c.Budget, loopCost: contextCheck, precompiled: c.Precompiled},
		exports:  c.Exports, unavailable: onceUnavailable(c.CacheUnavailable), native: wazero.NewCompilationCache(),
	}
	unusable, err := x.open(c.CacheDir)
	if err != nil {
		return nil, err
	}
	if x.cache != nil {
		var native wazero.CompilationCache
		switch native, unusable = wazero.NewCompilationCacheWithDir(x.cache.native); {
		case unusable == nil:
			x.native = native
		case c.Precompiled:
			return nil, &SpoiledError{unusable}
		default:
			x.cache = nil
		}
	}
	if unusable != nil {
		x.unavailable(unusable)
	}
	return x, nil
}

// contextCheck is the extra price, in fuel, of each iteration of a loop under Extism. Because of
// its time limit, Extism makes wazero check in each iteration whether the time is over. The check
// leaves native code, which took 20 ns on a quiet machine.
const contextCheck = 24

// Close gives native code back. The caller closes all runtimes that use it before.
func (x *Extism) Close() error {
	ctx := context.Background()
	if x.unwritable == nil {
		return x.native.Close(ctx)
	}
	return errors.Join(x.native.Close(ctx), x.unwritable.Close(ctx))
}

// CacheFailed reports whether err, from compiling under [Extism.RuntimeConfig], says
// only that the native code could not be kept. If so, nothing is kept from then on,
// and the caller compiles once more.
func (x *Extism) CacheFailed(err error) bool {
	if x.cache == nil || !isFileError(err) {
		return false
	}
	x.unavailable(err)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.unwritable == nil {
		x.native, x.unwritable = wazero.NewCompilationCache(), x.native
	}
	return true
}

// Prepare validates a module and returns its metered form. hash is the [Hash] of the
// module; kept says that the cache had its metered form, and so most likely its native code.
// A module that is refused is a *Refusal, which lists every reason.
func (x *Extism) Prepare(name, hash string, binary []byte) (metered []byte, kept bool, err error) {
	m, metered, err := x.prepare(name, hash, binary, x.validate)
	return metered, err == nil && m.kept, err
}

// validate compares the sections of m with what Extism offers and the host calls.
func (x *Extism) validate(m *image) {
	if m.starts {
		m.findings.add("start section", "", "code that runs before the host asks is refused; use "+initialize)
	}
	m.validateImports(slices.Concat(extismKernel, wasi))
	found := make(map[string]exported, len(m.exports))
	for _, e := range m.exports {
		found[e.name] = e
	}
	m.validateExport(Export{Name: initialize, Optional: true}, found)
	for _, name := range x.exports {
		e, ok := found[name]
		if ok && e.kind == externFunction && m.types[m.functions[e.index]] == (signature{}) {
			continue
		}
		m.validateExport(Export{Name: name, HasResult: true}, found)
	}
	m.validateMemorySize()
	m.refuseReservedNames()
}

// RuntimeConfig returns the configuration for the runtime that Extism makes.
func (x *Extism) RuntimeConfig() wazero.RuntimeConfig {
	x.mu.Lock()
	defer x.mu.Unlock()
	return wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithDebugInfoEnabled(false).
		WithCompilationCache(x.native)
}

// ModuleConfig returns the configuration for an instance. The instance gets a real clock and real
// randomness, because those of wazero itself are the same in every process. What the module prints
// goes to out.
func (x *Extism) ModuleConfig(out io.Writer) wazero.ModuleConfig {
	return wazero.NewModuleConfig().
		WithRandSource(rand.Reader).
		WithSysWalltime().
		WithSysNanotime().
		WithEnv("GOGC", "25").
		WithStdout(out).
		WithStderr(out)
}

// ExtismTrap turns the error of a call that Extism made into a Trap. An error of an
// unknown kind is a TrapOther that wraps it.
func ExtismTrap(err error) *Trap {
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		switch exit.ExitCode() {
		case sys.ExitCodeDeadlineExceeded:
			return &Trap{Kind: TrapOther, Err: context.DeadlineExceeded}
		case sys.ExitCodeContextCanceled:
			return &Trap{Kind: TrapOther, Err: context.Canceled}
		}
		return &Trap{Kind: TrapExit, Code: exit.ExitCode()}
	}
	switch kind := trapKind(err); kind {
	case TrapOther:
		return &Trap{Kind: TrapOther, Err: err}
	case TrapUnreachable: // Extism does not let us see which
		return &Trap{Kind: TrapOther, Err: errors.New("gave up, or used up its budget for one call")}
	default:
		return &Trap{Kind: kind}
	}
}

// extismKernel is what a module may import of Extism, with its types: memory,
// input, output and the log. HTTP, variables and the configuration are left out,
// because the host could not apply its policy to them.
var extismKernel = slices.Concat(
	kernel("", "i", "get_log_level"),
	kernel("", "I", "input_length", "input_offset"),
	kernel("I", "", "error_set", "free", "log_debug", "log_error", "log_info", "log_trace", "log_warn"),
	kernel("I", "i", "input_load_u8", "load_u8"),
	kernel("I", "I", "alloc", "input_load_u64", "length", "length_unsafe", "load_u64"),
	kernel("II", "", "output_set", "store_u64"),
	kernel("Ii", "", "store_u8"),
)

// kernel describes functions of Extism that have one type. params and results have a letter for
// each value, as the params of call do.
func kernel(params, results string, names ...string) (all []hostFunc) {
	for _, name := range names {
		all = append(all, hostFunc{module: "extism:host/env", name: name, signature: signature{letters(params), letters(results)}})
	}
	return all
}
