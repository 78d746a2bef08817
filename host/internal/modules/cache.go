// Package modules holds the plugins of a host: it inspects, compiles and keeps them, and reads
// their manifests. Transports run on an engine of [wasm], auth providers under Extism. A plugin
// that is not part of the program is compiled in a process of its own, if the configuration names a
// command for such processes.
package modules

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/abi/verdict"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/policyplugin"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/internal/worker"
)

// Config says which plugins exist, and how they are compiled.
type Config struct {
	Builtin map[string]func() []byte // part of the program, by name: functions that return a module
	Files   map[string]config.Plugin // by name; one with a file replaces a builtin

	CacheDir string        // keeps compiled code; "" keeps nothing
	Worker   []string      // the command of processes that compile and run plugins; nil is none
	Timeout  time.Duration // of compiling in such a process; 0 is [worker.CompileTime]

	// Warn gets a text for people about an oddity of a plugin, or of all of them where plugin is "". It may be called from any goroutine, and must
	// return at once.
	Warn func(plugin, text string)

	// Unkept, if not nil, is told why compiled code is not kept, once for all engines. It may be called as Warn is.
	Unkept func(error)
}

// Transport is a transport plugin that can be started: in this process or, if the user wants that,
// in one process for each connection.
type Transport struct {
	Hash   string        // of its file
	Module *wasm.Module  // nil if it runs in processes of its own
	Apart  guest.Program // nil if it runs in this process
}

// Compile makes the native code of a transport that runs in this process, unless loading it has done
// so.
func (m *Cache) Compile(ctx context.Context, t *Transport, name string) error {
	if t.Module == nil {
		return nil
	}
	defer m.loading(name)()
	err := t.Module.Compile(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("compile plugin %s: %w", name, context.Cause(ctx))
	case errors.Is(err, wasm.ErrClosed):
		return fmt.Errorf("compile plugin %s: %w", name, hosterr.ErrClosed)
	}
	return &guest.PluginError{Plugin: name, Op: "start", Err: err}
}

// Cache holds the plugins of a host. All methods are safe for concurrent use.
type Cache struct {
	config  Config
	engine  *wasm.Engine // of Builtin
	foreign *foreign     // of all others

	loads     stopwatch
	cacheless sync.Once // for the warning that nothing is kept
	unsealed  sync.Map  // names of the plugins whose missing seal was warned of

	mu         sync.Mutex
	closed     bool
	files      map[string]config.Plugin // never written to
	transports map[string]*cachedModule[Transport]
	providers  map[string]*cachedModule[auth.Plugin]
	policies   map[string]*cachedModule[policyplugin.Plugin]
	auth       *auth.Engine         // nil until the first provider is loaded
	policy     *policyplugin.Engine // nil until the first policy is loaded
}

// New makes a cache. It loads no plugin before its first use.
func New(ctx context.Context, c Config) (*Cache, error) {
	m := &Cache{
		config: c, files: c.Files,
		transports: make(map[string]*cachedModule[Transport]),
		providers:  make(map[string]*cachedModule[auth.Plugin]),
		policies:   make(map[string]*cachedModule[policyplugin.Plugin]),
	}
	var err error
	m.engine, err = wasm.NewEngine(ctx, wasm.Config{CacheDir: c.CacheDir, CacheUnavailable: m.unkept, ABI: guest.ABI()})
	if err != nil {
		return nil, err
	}
	m.foreign = &foreign{compiler: worker.Compiler{
		Command: c.Worker, Cache: worker.CodeCacheIn(c.CacheDir), CacheUnavailable: m.unkept, Timeout: c.Timeout,
	}}
	return m, nil
}

// unkept calls Unkept of the Config, the first time.
func (m *Cache) unkept(err error) {
	if m.config.Unkept != nil {
		m.cacheless.Do(func() { m.config.Unkept(err) })
	}
}

// Close ends all providers. It frees native code when the last transport that runs on it is closed.
// No plugin can be loaded afterwards.
func (m *Cache) Close() error {
	m.mu.Lock()
	m.closed = true
	providers, policies := m.auth, m.policy
	m.mu.Unlock()
	var err error
	if providers != nil {
		err = providers.Close()
	}
	if policies != nil {
		err = errors.Join(err, policies.Close())
	}
	return errors.Join(err, m.engine.Close(), m.foreign.close())
}

// Files returns the plugins that are loaded from files, by name. The caller must not change it.
func (m *Cache) Files() map[string]config.Plugin {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files
}

// Builtin reports whether a plugin of that name is part of the program.
func (m *Cache) Builtin(name string) bool { return m.config.Builtin[name] != nil }

// Has reports whether there is a plugin of that name. It does not tell whether that is a transport,
// which is known only when it is read.
func (m *Cache) Has(name string) bool { return m.Files()[name].File != "" || m.Builtin(name) }

// LoadTime returns for how long plugins have been loaded and compiled since a time. That is the host's
// own time: it does not count as that of a server.
func (m *Cache) LoadTime(since time.Time) time.Duration { return m.loads.since(since) }

// loadTold is how long a plugin may be loaded before people are told why they wait.
const loadTold = 3 * time.Second

// loading notes that a plugin is being loaded or compiled, until the function that it returns is called.
func (m *Cache) loading(name string) (over func()) {
	stop := m.loads.start()
	told := time.AfterFunc(loadTold, func() {
		m.config.Warn(name, fmt.Sprintf("plugin %s is still being loaded; it is compiled the first time, which takes a while", name))
	})
	return func() { told.Stop(); stop() }
}

// kind is a kind of plugins.
type kind string

const (
	aTransport kind = "a transport"
	aProvider  kind = "an auth provider"
	aPolicy    kind = "a policy plugin"
)

// kindOf returns what a module exports itself as.
func kindOf(binary []byte) kind {
	switch {
	case wasm.HasExport(binary, step.ExportStep):
		return aProvider
	case wasm.HasExport(binary, verdict.ExportDecide):
		return aPolicy
	}
	return aTransport
}

// newest returns the plugin of that name, as its file is now. known holds the plugins of its kind,
// and load reads and prepares one.
func newest[P any](ctx context.Context, m *Cache, known map[string]*cachedModule[P], name string, load func(context.Context, string) (*P, error)) (*P, error) {
	m.mu.Lock()
	c, file, closed := known[name], m.files[name].File, m.closed
	if c == nil {
		c = &cachedModule[P]{loading: ctxmutex.New()}
		known[name] = c
	}
	m.mu.Unlock()
	if closed {
		return nil, hosterr.ErrClosed
	}
	timed := func(ctx context.Context, name string) (*P, error) {
		defer m.loading(name)()
		return load(ctx, name)
	}
	return c.get(ctx, name, file, timed, func(text string) { m.config.Warn(name, text) })
}
