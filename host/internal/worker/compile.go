package worker

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/abi/verdict"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"github.com/wharf-mcp/wharf/host/internal/policyplugin"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// lowLimits are the limits of a module that is compiled in this process, where nothing can stop the
// compilation. A unit of effort is at most 100 ns and 100 bytes, and four functions are compiled at
// a time, so these are about 5 s of one processor, and less than 512 MB.
var lowLimits = wasm.Limits{Effort: 42_000_000, BodyEffort: 900_000}

// CompileTime is how long compiling a module may take unless a Compiler says otherwise.
const CompileTime = time.Minute

// compileGarbage lets the heap of a process that only compiles grow further before a collection.
// The memory limit takes precedence. It is an environment variable because packages make garbage
// before the main function begins.
const compileGarbage = "GOGC=400"

const (
	compilers      = 2   // processes that compile at a time
	maxRefusalLine = 300 // bytes of a line of a refusal
)

// Compiler makes the native code of modules that are not part of the program, in processes of their
// own. Each module has a cache folder of its own, which its process fills and this one reads, so a
// hostile process can only spoil its own module. Any goroutine may use it.
type Compiler struct {
	// Command is a program, with arguments, that passes its stdin and stdout to Serve. Without it,
	// modules are compiled in this process, within low limits.
	Command []string

	// Cache keeps compiled code. If it is nil or cannot be used, the Compiler makes a folder that
	// Close removes.
	Cache *CodeCache

	// CacheUnavailable, if not nil, gets the reason why Cache cannot be used.
	CacheUnavailable func(error)

	// Timeout is how long compiling a module may take; 0 is CompileTime.
	Timeout time.Duration

	once   sync.Once
	slots  chan struct{} // one for each process that compiles
	tidied sync.Once

	mu        sync.Mutex
	temporary *CodeCache // nil until it is needed
}

// Module returns a compiled transport and the engine that it runs on, which the caller closes. c
// configures the rest of the engine. A module that cannot be used is a [*RefusedError] or a
// [*wasm.Refusal].
func (c *Compiler) Module(ctx context.Context, name string, binary []byte, config wasm.Config) (*wasm.Engine, *wasm.Module, error) {
	var engine *wasm.Engine
	var module *wasm.Module
	j := job{kind: transport, name: name, module: binary}
	if config.Unmetered {
		j.kind = unmetered
	}
	err := c.open(ctx, j, func(s wasm.Source) (err error) {
		config.CacheDir, config.Precompiled, config.Limits = s.Dir, s.Precompiled, s.Limits
		if engine, err = wasm.NewEngine(ctx, config); err != nil {
			return err
		}
		if module, err = engine.LoadCompiled(ctx, name, binary); err != nil {
			engine, module, err = nil, nil, errors.Join(err, engine.Close())
		}
		return err
	})
	return engine, module, err
}

// Provider returns an auth provider that it has loaded into e, an engine whose Fuel is fuel.
func (c *Compiler) Provider(ctx context.Context, e *auth.Engine, fuel int64, name string, binary []byte) (p *auth.Plugin, err error) {
	err = c.open(ctx, job{kind: provider, fuel: fuel, name: name, module: binary}, func(s wasm.Source) (err error) {
		p, err = e.LoadFrom(ctx, name, binary, s)
		return err
	})
	return p, err
}

// Policy returns a policy that it has loaded into e, an engine whose Fuel is fuel.
func (c *Compiler) Policy(ctx context.Context, e *policyplugin.Engine, fuel int64, name string, binary []byte) (p *policyplugin.Plugin, err error) {
	err = c.open(ctx, job{kind: policy, fuel: fuel, name: name, module: binary}, func(s wasm.Source) (err error) {
		p, err = e.LoadFrom(ctx, name, binary, s)
		return err
	})
	return p, err
}

// Manifest returns the manifest of an auth provider, which it runs in a process of its own. Command
// must be set.
func (c *Compiler) Manifest(ctx context.Context, name string, binary []byte) (*step.Manifest, error) {
	return describe(ctx, c, job{kind: provider, name: name, module: binary}, auth.ReadManifest)
}

// PolicyManifest is Manifest for a policy.
func (c *Compiler) PolicyManifest(ctx context.Context, name string, binary []byte) (*verdict.Manifest, error) {
	return describe(ctx, c, job{kind: policy, name: name, module: binary}, policyplugin.ReadManifest)
}

func describe[M any](ctx context.Context, c *Compiler, j job, read func([]byte) (*M, error)) (*M, error) {
	var body []byte
	err := c.withFolder(ctx, &j, func() (err error) {
		body, err = c.ask(ctx, &j)
		return err
	})
	if err != nil {
		return nil, err
	}
	return read(body)
}

// Close removes the temporary folder. The Compiler must no longer be in use.
func (c *Compiler) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.temporary == nil {
		return nil
	}
	err := os.RemoveAll(c.temporary.folder.Dir)
	c.temporary = nil
	return err
}

// open calls f to use the native code of a module. If the code is not in the cache yet, open
// compiles it and calls f again.
func (c *Compiler) open(ctx context.Context, j job, f func(wasm.Source) error) error {
	if len(c.Command) == 0 {
		dir, leave := c.Cache.open(ctx, wasm.Hash(j.module))
		defer leave()
		return f(wasm.Source{Dir: dir, Limits: lowLimits})
	}
	return c.withFolder(ctx, &j, func() error {
		s := wasm.Source{Dir: j.cache, Precompiled: true}
		err := f(s)
		if !errors.Is(err, wasm.ErrNotCompiled) {
			return err
		}
		if errors.As(err, new(*wasm.SpoiledError)) {
			clearFolder(j.cache)
		}
		if _, err := c.ask(ctx, &j); err != nil {
			return err
		}
		if err = f(s); errors.Is(err, wasm.ErrNotCompiled) {
			clearFolder(j.cache)
			err = endedRefusal("its worker process says that it was compiled, and left nothing that can be used: %v", err)
		}
		return err
	})
}

// withFolder calls do with a folder for compiled code: one of the cache or, if the cache cannot be
// written to, one of this Compiler.
func (c *Compiler) withFolder(ctx context.Context, j *job, do func() error) error {
	with := func(cache *CodeCache) error {
		dir, leave := cache.open(ctx, wasm.Hash(j.module))
		defer leave()
		if j.cache = dir; dir == "" {
			return &cacheError{errors.New("its folder cannot be used")}
		}
		return do()
	}
	err := with(c.Cache)
	unusable := (*cacheError)(nil)
	if !errors.As(err, &unusable) {
		return err
	}
	if c.Cache != nil && c.CacheUnavailable != nil {
		c.CacheUnavailable(fmt.Errorf("plugin cache: %w", unusable.err))
	}
	c.mu.Lock()
	if c.temporary == nil {
		dir, err := os.MkdirTemp("", "wharf-plugins-") // mode 0700
		if err != nil {
			c.mu.Unlock()
			return fmt.Errorf("make a folder for compiled plugins: %w", err)
		}
		c.temporary = NewCodeCache(dir)
	}
	spare := c.temporary
	c.mu.Unlock()
	return with(spare)
}

// cacheError says why native code cannot be kept in a cache.
type cacheError struct{ err error }

func (e *cacheError) Error() string { return fmt.Sprintf("nothing can be kept: %v", e.err) }

// clearFolder removes the contents of a folder as far as possible.
func clearFolder(dir string) {
	entries, _ := os.ReadDir(dir) // or there is nothing to remove
	for _, e := range entries {
		_ = os.RemoveAll(filepath.Join(dir, e.Name()))
	}
}

// ask gives a job to a process, and returns the body of COMPILED. When it returns, nothing is left
// of the process.
func (c *Compiler) ask(ctx context.Context, j *job) ([]byte, error) {
	c.once.Do(func() { c.slots = make(chan struct{}, compilers) })
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	body, err := c.start(ctx, j)
	if err != nil { // a file that was being written when the process ended is unusable
		_ = filepath.WalkDir(j.cache, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && (strings.HasPrefix(d.Name(), "new-") || filepath.Ext(path) == ".tmp") {
				_ = os.Remove(path)
			}
			return nil
		})
	}
	return body, err
}

// start does the work of ask, once there is room for another process.
func (c *Compiler) start(ctx context.Context, j *job) ([]byte, error) {
	program := process.Process{Command: c.Command[0], Args: slices.Clone(c.Command[1:]), Env: []string{compileGarbage}}
	piped, err := program.StartPiped()
	if err != nil {
		return nil, &StartError{err}
	}
	c.tidied.Do(c.Cache.tidy) // the process takes longer to start
	limit := cmp.Or(max(c.Timeout, 0), CompileTime)
	late := endedRefusal("it was not compiled within %v, and its worker process was killed", limit)
	late.Late = true
	bounded, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	stop := context.AfterFunc(bounded, piped.Kill)
	t, body, err := converse(piped, j)
	stop()
	if err != nil && !errors.As(err, new(*violation)) {
		awaitExit(piped.Ended()) // a silent process is about to end by itself
	}
	fate := piped.Reap()
	piped.Close()
	switch {
	case bounded.Err() != nil && err != nil:
		return nil, context.Cause(bounded)
	case errors.As(err, new(*violation)):
		return nil, endedRefusal("its worker process broke the rules, and was killed: %v", err)
	case err != nil:
		return nil, endedRefusal("its worker process %s; to compile a plugin, it may take %d s of the processors and %d MB",
			fate, onlyCompiling.CPU, onlyCompiling.Memory>>20)
	case t == tagRefused:
		return nil, &RefusedError{why: cleanLines(string(body))}
	case t == tagFailed:
		return nil, &cacheError{errors.New(cleantext.Line(string(body), maxSentText))}
	}
	return body, nil
}

// A StartError says why there is no process to compile in. The module is not at fault.
type StartError struct{ Err error }

func (e *StartError) Error() string { return fmt.Sprintf("start its worker process: %v", e.Err) }
func (e *StartError) Unwrap() error { return e.Err }

// endedRefusal returns the RefusedError for the end of a process.
func endedRefusal(format string, a ...any) *RefusedError {
	return &RefusedError{why: fmt.Sprintf(format, a...), Ended: true}
}

// cleanLines makes a text of a process fit to be shown to a person. It keeps the first line and
// indents all others, as in a [wasm.Refusal].
func cleanLines(text string) string {
	var clean []string
	for line := range strings.Lines(text) {
		if line = cleantext.Line(strings.TrimSpace(line), maxRefusalLine); line != "" {
			clean = append(clean, line)
		}
	}
	return strings.Join(clean, "\n  ")
}

// converse sends a job and reads its answer. The body belongs to the caller.
func converse(p processPipe, j *job) (tag, []byte, error) {
	for _, part := range [][]byte{j.append(nil), j.module} {
		if _, err := p.Write(part); err != nil {
			return 0, nil, err
		}
	}
	in := frames{in: bufio.NewReader(p), most: func(t tag) (size uint32, known bool) {
		size, known = answers[t]
		return size, known
	}}
	return in.next()
}
