package modules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"weak"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/internal/worker"
)

// foreign holds the native code of the plugins that are not part of the program. Each module has an
// engine and a cache folder of its own. An engine belongs to its modules and instances: when the
// last of them is gone, the garbage collector frees its native code, so that a host may load any
// number of versions of a plugin.
type foreign struct {
	compiler worker.Compiler

	mu      sync.Mutex
	closed  bool
	engines map[string]weak.Pointer[wasm.Engine] // by hash of the module; nil before the first
}

// module returns a compiled transport. ctx bounds the compilation.
func (f *foreign) module(ctx context.Context, name string, binary []byte) (*wasm.Module, error) {
	hash := wasm.Hash(binary)
	f.mu.Lock()
	first, closed := f.engines[hash].Value(), f.closed
	f.mu.Unlock()
	if closed {
		return nil, wasm.ErrClosed
	}
	if first != nil {
		return first.LoadCompiled(ctx, name, binary) // it was compiled before
	}
	e, m, err := f.compiler.Module(ctx, name, binary, wasm.Config{ABI: guest.ABI()})
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errors.Join(wasm.ErrClosed, e.Close())
	}
	if first := f.engines[hash].Value(); first != nil { // another load was faster
		m, err = first.LoadCompiled(ctx, name, binary)
		return m, errors.Join(err, e.Close())
	}
	maps.DeleteFunc(f.engines, func(_ string, e weak.Pointer[wasm.Engine]) bool { return e.Value() == nil })
	if f.engines == nil {
		f.engines = make(map[string]weak.Pointer[wasm.Engine])
	}
	f.engines[hash] = weak.Make(e)
	return m, nil
}

// describe returns the manifest of a transport, which it runs in a process of its own. The
// configuration must name the command of such processes.
func (f *foreign) describe(ctx context.Context, name string, binary []byte) (*abi.Manifest, error) {
	limit := cmp.Or(max(f.compiler.Timeout, 0), worker.CompileTime)
	bounded, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it was not compiled within %v, and its worker process was killed", limit))
	defer cancel()
	return manifest(bounded, guest.Config{Plugin: name, Remote: f.program(binary)})
}

// manifest runs a guest for one event, and returns its manifest.
func manifest(ctx context.Context, c guest.Config) (*abi.Manifest, error) {
	inst, err := guest.New(ctx, c)
	if err != nil {
		return nil, err
	}
	defer inst.Close(ctx)
	said := inst.Manifest()
	return &said, nil
}

// program returns a transport that runs in processes of its own.
func (f *foreign) program(binary []byte) *worker.Program {
	return &worker.Program{Binary: binary, Hash: wasm.Hash(binary), Command: f.compiler.Command, Cache: f.compiler.Cache}
}

// close frees the native code. Every instance must have been closed before, and no module may be
// loaded afterwards.
func (f *foreign) close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	var errs []error
	for _, e := range f.engines {
		if e := e.Value(); e != nil {
			errs = append(errs, e.Close())
		}
	}
	return errors.Join(append(errs, f.compiler.Close())...)
}
