package worker

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/confine"
	"github.com/wharf-mcp/wharf/host/internal/extism"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/policyplugin"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// kind is what a job compiles a module for.
type kind uint32

const (
	transport kind = iota
	unmetered      // a transport as it is, see [wasm.Config]
	provider
	policy
)

// job is a compilation of a module into a folder. The answer is COMPILED; or REFUSED, with the
// faults of the module; or FAILED, with the reason why nothing can be kept in the folder.
type job struct {
	kind   kind
	fuel   int64  // of a call of a provider or a policy; 0 is the usual
	name   string // for errors
	cache  string // the folder
	module []byte
}

func (j *job) append(b []byte) []byte {
	b = le.AppendUint64(appendU32(beginFrame(b, tagCompile), uint32(j.kind)), uint64(j.fuel))
	b = appendU32(b, uint32(len(j.name)), uint32(len(j.cache)))
	b = append(append(b, j.name...), j.cache...)
	return endFrame(b, len(j.module))
}

func (j *job) decode(body []byte) error {
	f := fields{rest: body}
	j.kind, j.fuel = kind(f.u32()), f.i64()
	name, cache := f.u32(), f.u32()
	j.name, j.cache = f.text(name), f.text(cache)
	j.module = f.rest
	return f.end(true)
}

// onlyCompiling holds the limits of a process that compiles one module. Its processor time ends it
// even if the host no longer waits.
var onlyCompiling = confine.Limits{CPU: 60, Memory: 1 << 30, File: 64 << 20}

// answers holds the longest bodies that the host accepts from a worker that compiles, by tag.
var answers = map[tag]uint32{tagCompiled: 64 << 10, tagRefused: 16 << 10, tagFailed: maxSentText}

// run compiles the module and reads the manifest of a provider or a policy. failed says why nothing was kept,
// and err what is wrong with the module.
func (j *job) run(restrict func() error) (manifest []byte, failed, err error) {
	if err := confine.Resources(onlyCompiling); err != nil {
		return nil, err, nil
	}
	ctx, unkept := context.Background(), func(err error) { failed = err }
	switch j.kind {
	case provider:
		e, err := auth.NewEngine(auth.EngineConfig{CacheDir: j.cache, Unkept: unkept, Fuel: j.fuel, Compiled: restrict})
		if err != nil {
			return nil, failed, err
		}
		manifest, err = manifestOf(ctx, e, j)
		return manifest, failed, err
	case policy:
		e, err := policyplugin.NewEngine(policyplugin.EngineConfig{CacheDir: j.cache, Unkept: unkept, Fuel: j.fuel, Compiled: restrict})
		if err != nil {
			return nil, failed, err
		}
		manifest, err = manifestOf(ctx, e, j)
		return manifest, failed, err
	}
	c := wasm.Config{CacheDir: j.cache, CacheUnavailable: unkept, ABI: guest.ABI(), Unmetered: j.kind == unmetered}
	e, err := wasm.NewEngine(ctx, c)
	if err != nil {
		return nil, err, nil
	}
	_, err = e.LoadCompiled(ctx, j.name, j.module)
	return nil, failed, err
}

// manifestOf loads the module of a job, and returns its manifest.
func manifestOf[M any](ctx context.Context, e *extism.Engine[M], j *job) ([]byte, error) {
	p, err := e.Load(ctx, j.name, j.module)
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(p.Manifest())
	if err == nil && len(manifest) > int(answers[tagCompiled]) {
		err = fmt.Errorf("its manifest has more than %d bytes", answers[tagCompiled])
	}
	return manifest, err
}
