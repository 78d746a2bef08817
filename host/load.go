package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/internal/worker"
)

// program is a transport plugin, ready to be started: in this process, or, where
// the user wants that, in one of its own for each connection.
type program struct {
	hash   string // of its file
	module *wasm.Module
	apart  guest.Program // nil where it runs in this process
}

// compile makes the native code of a plugin that runs in this process. It is done
// before a server's time to start begins, which is for the server.
func (p *program) compile(ctx context.Context, name string) error {
	if p.module == nil {
		return nil
	}
	err := p.module.Compile(ctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("compile plugin %s: %w", name, context.Cause(ctx))
	case errors.Is(err, wasm.ErrClosed):
		return fmt.Errorf("compile plugin %s: %w", name, ErrClosed)
	}
	return &PluginError{Plugin: name, Op: "start", Err: err}
}

// files returns the plugins that are loaded from files, by name. It is not to be
// written to.
func (h *Host) files() map[string]config.Plugin {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.plugins
}

// module returns the transport plugin of that name, ready to be instantiated. What
// runs goes on with the one that it was started with.
func (h *Host) module(ctx context.Context, name string) (*program, error) {
	return newest(ctx, h, h.modules, name, h.load)
}

func (h *Host) load(ctx context.Context, name string) (*program, error) {
	binary, err := h.binary(name)
	if err != nil {
		return nil, err
	}
	if h.files()[name].Isolation == config.IsolationProcess {
		return h.isolate(name, binary)
	}
	m, err := h.engine.Load(ctx, name, binary)
	switch {
	case err == nil:
		return &program{hash: m.Hash(), module: m}, nil
	case ctx.Err() != nil: // nobody has looked at the plugin yet
		return nil, fmt.Errorf("load plugin %s: %w", name, context.Cause(ctx))
	case errors.Is(err, wasm.ErrClosed):
		return nil, fmt.Errorf("load plugin %s: %w", name, ErrClosed)
	}
	return nil, &fault{kind: ErrPluginRefused, err: &PluginError{Plugin: name, Op: "load", Err: err}}
}

// Prepare loads and compiles the plugins that an entry needs first, where nobody has:
// for a program that gives a server little time to connect, and wants to spend none
// of it on that. What goes wrong, the connect says.
func (h *Host) Prepare(ctx context.Context, s Server) {
	via := h.routes(s)[0]
	if !slices.Contains(h.Transports(), via) {
		return
	}
	if m, err := h.module(ctx, via); err == nil {
		_ = m.compile(ctx, via)
	}
	if a, err := h.account(s); err == nil && a != nil {
		a.Prepare(ctx)
	}
}

// binary returns the bytes of a plugin: a file's if there is one, else those
// that are compiled in.
func (h *Host) binary(name string) ([]byte, error) {
	if p := h.files()[name]; p.File != "" {
		binary, err := plugin.File{Name: name, Path: p.File, SHA256: p.SHA256}.Read()
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
			err = &fault{kind: ErrConfig, err: err, hint: "look at file in [plugins." + name + "]"}
		}
		return binary, err
	}
	return h.config.Plugins[name], nil
}

// isolate has a plugin run in processes of its own. Nothing looks at it here: what
// is wrong with it, its first process says.
func (h *Host) isolate(name string, binary []byte) (*program, error) {
	if len(h.config.Worker) == 0 {
		return nil, &fault{
			ErrConfig, fmt.Errorf("plugin %s is to run in a process of its own, and this program starts none", name),
			"leave isolation out of [plugins." + tomlKey(name) + "], if you trust the plugin; a program that embeds the host sets Worker in its configuration",
		}
	}
	hash := plugin.Hash(binary)
	w := &worker.Program{Binary: binary, Hash: hash, Command: h.config.Worker}
	if h.config.CacheDir != "" {
		w.Chest = worker.NewChest(filepath.Join(h.config.CacheDir, "apart"))
	}
	return &program{hash: hash, apart: w}, nil
}

// RunWorker is the other side of [Config.Worker]: it takes from its process, for
// good, what it does not need, and runs the plugin that comes from in until that
// ends. The process is to end when RunWorker returns.
func RunWorker(in io.Reader, out io.Writer) error { return worker.Serve(in, out) }
