package wasm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// AnnexConfig is what an Annex is made of.
type AnnexConfig struct {
	CacheDir    string      // as in Config
	Unkept      func(error) // as in Config
	Precompiled bool        // as in Config
	Limits      Limits      // zero fields take their defaults
	Budget      int64       // fuel of one call of an export
	Exports     []string    // the functions a module must have; they take nothing, and return nothing or an i32
}

// Annex is the part of the house that Extism runs modules in. Extism brings a
// runtime of its own, which is wazero as well: an Annex looks at its modules and
// meters them as an Engine does, and makes the settings that it takes from us.
// It is safe for concurrent use, and outlives what was made with its settings.
type Annex struct {
	config AnnexConfig
	limits Limits
	shelf  *shelf
	unkept unkept

	mu     sync.Mutex
	native wazero.CompilationCache
	former wazero.CompilationCache // which cannot be kept; nil for none
}

// NewAnnex checks the cache directory and returns. Nothing is compiled.
func NewAnnex(c AnnexConfig) (*Annex, error) {
	learnVersion()
	a := &Annex{
		config: c, limits: c.Limits.filled(), unkept: unkept{hear: c.Unkept},
		native: wazero.NewCompilationCache(),
	}
	if c.CacheDir == "" {
		if c.Precompiled {
			return nil, &SpoiledError{errNoFolder}
		}
		return a, nil
	}
	s, err := openShelf(c.CacheDir, a.limits, c.Budget)
	if err != nil && !ofDisk(err) {
		return nil, fmt.Errorf("plugin cache: %w", err)
	}
	var native wazero.CompilationCache
	if err == nil {
		native, err = wazero.NewCompilationCacheWithDir(s.native)
	}
	switch {
	case err != nil && c.Precompiled:
		return nil, &SpoiledError{err}
	case err != nil:
		a.unkept.tell(err)
		return a, nil
	}
	a.shelf, a.native = s, native
	return a, nil
}

// closeCheck is what a loop costs under Extism for each time around, in units of
// fuel. With a time limit Extism has wazero ask in each loop whether the time is
// over, which leaves native code: 20 ns were measured, on a quiet machine.
const closeCheck = 24

// Close gives native code back. Whatever runs on it is closed before.
func (a *Annex) Close() error {
	ctx := context.Background()
	if a.former == nil {
		return a.native.Close(ctx)
	}
	return errors.Join(a.native.Close(ctx), a.former.Close(ctx))
}

// Spares reports whether err, of compiling under [Annex.Runtime], says no more
// than that the code cannot be kept. From then on nothing is: it is to be compiled
// once more.
func (a *Annex) Spares(err error) bool {
	if a.shelf == nil || !ofDisk(err) {
		return false
	}
	a.unkept.tell(err)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.former == nil {
		a.native, a.former = wazero.NewCompilationCache(), a.native
	}
	return true
}

// Prepare looks at a module and returns its metered form, with the hash of that
// in lower case hexadecimal. A module that will not be run is a *Refusal, which
// lists every reason.
func (a *Annex) Prepare(name string, binary []byte) (metered []byte, hash string, err error) {
	if a.config.Precompiled {
		if err := checkCache(a.shelf); err != nil {
			return nil, "", fmt.Errorf("%s: %w", name, err)
		}
	}
	key := Hash(binary)
	metered, known := a.shelf.get(key)
	if a.config.Precompiled && !known {
		return nil, "", fmt.Errorf("%s: %w", name, ErrNotCompiled)
	}
	m, err := read(binary, a.limits)
	if err != nil {
		return nil, "", unreadable(name, err)
	}
	m.checked = closeCheck
	if known, err = m.keeps(metered, known, a.config.Precompiled); err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, err)
	}
	if !known {
		m.scanAll()
	}
	a.look(m)
	if err := m.findings.refusal(name); err != nil {
		return nil, "", err
	}
	if !known {
		metered = m.meter(a.config.Budget)
		a.shelf.put(key, metered)
	}
	return metered, Hash(metered), nil
}

// look is for Extism what image.look is for a Surface.
func (a *Annex) look(m *image) {
	if m.starts {
		m.findings.add("start section", "", "code that runs before the host asks is refused; use "+initialize)
	}
	m.lookImports(join(extismKernel, wasi))
	found := make(map[string]exported, len(m.exports))
	for _, e := range m.exports {
		found[e.name] = e
	}
	m.want(Export{Name: initialize, Optional: true}, found)
	for _, name := range a.config.Exports {
		e, ok := found[name]
		if ok && e.kind == externFunction && m.types[m.functions[e.index]] == (signature{}) {
			continue
		}
		m.want(Export{Name: name, HasResult: true}, found)
	}
	m.lookSizes()
	m.unclaimed()
}

// Compiling is a context to compile in, on as many processors as there are, until
// ctx ends: that is noticed between two functions. A Precompiled annex compiles
// nothing in it.
func (a *Annex) Compiling(ctx context.Context) context.Context {
	if a.config.Precompiled {
		return lookedUp()
	}
	return withWorkers(ctx)
}

// Missing says of an error of compiling under [Annex.Runtime] that it is
// [ErrNotCompiled], where the annex is Precompiled.
func (a *Annex) Missing(err error) error {
	if err == nil || !a.config.Precompiled {
		return err
	}
	return missing(err)
}

// Runtime is how Extism's runtime is to be set up.
func (a *Annex) Runtime() wazero.RuntimeConfig {
	a.mu.Lock()
	defer a.mu.Unlock()
	return wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithDebugInfoEnabled(false).
		WithCompilationCache(a.native)
}

// Instance is how an instance is to be set up: with a real clock and real
// randomness, where wazero's own are the same in every process. What the module
// prints goes to out.
func (a *Annex) Instance(out io.Writer) wazero.ModuleConfig {
	return wazero.NewModuleConfig().
		WithRandSource(rand.Reader).
		WithSysWalltime().
		WithSysNanotime().
		WithEnv("GOGC", "25").
		WithStdout(out).
		WithStderr(out)
}

// Stopped says why a call that Extism made did not return, in the terms of this
// package. An error of another kind is a TrapOther that wraps it.
func Stopped(err error) *Trap {
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
	for _, e := range wasmErrors {
		if !strings.HasPrefix(err.Error(), e.text) {
			continue
		}
		if e.kind == TrapUnreachable { // Extism does not let us see which
			return &Trap{Kind: TrapOther, Err: errors.New("gave up, or used up its budget for one call")}
		}
		return &Trap{Kind: e.kind}
	}
	return &Trap{Kind: TrapOther, Err: err}
}

// extismKernel is what a module may import of Extism, with its types: memory,
// input, output and the log. HTTP, variables and the configuration are left out:
// there is no place in them where a policy of ours could stand.
var extismKernel = []hostFunc{
	kernel("alloc", "I", "I"),
	kernel("error_set", "I", ""),
	kernel("free", "I", ""),
	kernel("get_log_level", "", "i"),
	kernel("input_length", "", "I"),
	kernel("input_load_u64", "I", "I"),
	kernel("input_load_u8", "I", "i"),
	kernel("input_offset", "", "I"),
	kernel("length", "I", "I"),
	kernel("length_unsafe", "I", "I"),
	kernel("load_u64", "I", "I"),
	kernel("load_u8", "I", "i"),
	kernel("log_debug", "I", ""),
	kernel("log_error", "I", ""),
	kernel("log_info", "I", ""),
	kernel("log_trace", "I", ""),
	kernel("log_warn", "I", ""),
	kernel("output_set", "II", ""),
	kernel("store_u64", "II", ""),
	kernel("store_u8", "Ii", ""),
}

// kernel describes a function of Extism, with one letter for each value as in
// call.
func kernel(name, params, results string) hostFunc {
	return hostFunc{module: "extism:host/env", name: name, signature: signature{letters(params), letters(results)}}
}
