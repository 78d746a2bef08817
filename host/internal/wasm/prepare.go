package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"

	"github.com/tetratelabs/wazero/experimental"
)

// preparer makes metered modules, for an Engine or an Extism.
type preparer struct {
	cache       *cacheDir // nil keeps nothing
	limits      Limits
	budget      int64 // fuel of a call, if the host sets none
	loopCost    int64 // see image
	precompiled bool  // as in Config
	unmetered   bool  // as in Config
}

var errNoCacheDir = errors.New("no folder is named")

// open opens the cache in dir, "" for none. unusable says why nothing can be kept in it, or is nil.
func (p *preparer) open(dir string) (unusable, err error) {
	p.limits = p.limits.withDefaults()
	if unusable = errNoCacheDir; dir != "" {
		p.cache, unusable = openCacheDir(dir, p.limits, p.budget)
	}
	switch {
	case dir != "" && unusable != nil && !isFileError(unusable):
		return nil, fmt.Errorf("plugin cache: %w", unusable)
	case p.precompiled && p.cache == nil:
		return nil, &SpoiledError{unusable}
	case dir == "":
		return nil, nil
	}
	return unusable, nil
}

// prepare reads and validates a binary and returns its metered form, from the cache
// if that has one. validate adds what it finds to the image's findings.
func (p *preparer) prepare(name, hash string, binary []byte, validate func(*image)) (*image, []byte, error) {
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
	m.kept = cached
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

// Hash returns the SHA-256 of a module, in lower case hexadecimal.
func Hash(binary []byte) string {
	sum := sha256.Sum256(binary)
	return hex.EncodeToString(sum[:])
}

// CompileContext returns a context to compile in, on several processors. If ctx ends, the
// compilation ends after the present function. If only precompiled code is allowed, the returned
// context has ended already: wazero still looks into its cache, and fails before it compiles a
// function.
func (p *preparer) CompileContext(ctx context.Context) context.Context {
	// With a single worker wazero would not ask whether the context has ended.
	workers := min(max(2, runtime.GOMAXPROCS(0)), mostWorkers)
	if !p.precompiled {
		return experimental.WithCompilationWorkers(ctx, workers)
	}
	ended, cancel := context.WithCancel(experimental.WithCompilationWorkers(context.Background(), workers))
	cancel()
	return ended
}

// NotCompiled returns an [ErrNotCompiled] for an error of compiling, if nothing may be compiled. It
// returns other errors, and nil, unchanged.
func (p *preparer) NotCompiled(err error) error {
	switch {
	case err == nil || !p.precompiled:
		return err
	case errors.Is(err, context.Canceled):
		return ErrNotCompiled
	default:
		return &SpoiledError{err}
	}
}
