package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
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

// compile makes the native code of a plugin that runs in this process, where loading
// it has not. It is done before a server's time to start begins, which is for the
// server.
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
	if isProvider(binary) {
		return nil, &hosterr.Error{
			Kind: ErrPluginRefused,
			Err:  fmt.Errorf("%s is an auth provider, and no transport", name),
			Hint: "look at transport in the entry, and at the plugin that is called " + name,
		}
	}
	file := h.files()[name]
	if file.Isolation == config.IsolationProcess {
		return h.isolate(name, binary)
	}
	load := h.engine.Load
	if file.File != "" {
		load = h.foreign.module
	}
	m, err := load(ctx, name, binary)
	if err != nil {
		return nil, h.unloaded(ctx, name, err)
	}
	return &program{hash: m.Hash(), module: m}, nil
}

// unloaded sorts the errors of looking at a plugin and compiling it.
func (h *Host) unloaded(ctx context.Context, name string, err error) error {
	var ended *worker.Refusal
	switch {
	case ctx.Err() != nil: // nobody has looked at the plugin yet
		return fmt.Errorf("load plugin %s: %w", name, context.Cause(ctx))
	case errors.Is(err, wasm.ErrClosed):
		return fmt.Errorf("load plugin %s: %w", name, ErrClosed)
	case errors.As(err, new(*worker.StartError)):
		return &hosterr.Error{
			Kind: ErrConfig,
			Err:  fmt.Errorf("load plugin %s: %w", name, err),
			Hint: "was this program replaced while it ran? Then start it again; a program that embeds the host names it as Worker in its configuration",
		}
	case errors.As(err, &ended) && ended.Late && h.config.CompileTimeout > 0:
		return &hosterr.Error{
			Kind: ErrTimeout,
			Err:  &PluginError{Plugin: name, Op: "compile", Err: err},
			Hint: "a plugin is compiled once, and that is kept: try again with a longer --timeout, or --timeout 0",
		}
	case errors.As(err, &ended) && ended.Ended:
		return &hosterr.Error{
			Kind: ErrPluginRefused,
			Err:  &PluginError{Plugin: name, Op: "compile", Err: err},
			Hint: "nothing else was harmed. A plugin that cannot be compiled within these limits is broken or\nhostile: install another version of it, or take it out of your configuration",
		}
	}
	return &hosterr.Error{Kind: ErrPluginRefused, Err: &PluginError{Plugin: name, Op: "load", Err: err}}
}

// Prepare loads and compiles the plugins that an entry needs first, where nobody has:
// for a program that gives a server little time to connect, and wants to spend none
// of it on that. The error is of the transport, which the connect would have too;
// all else that goes wrong, the connect says.
func (h *Host) Prepare(ctx context.Context, s Server) error {
	via := h.routes(s)[0]
	if !slices.Contains(h.Transports(), via) {
		return nil
	}
	m, err := h.module(ctx, via)
	if err == nil {
		err = m.compile(ctx, via)
	}
	if err != nil {
		return fmt.Errorf("connect %s: %w", s.Name, explain(s.Name, err))
	}
	if a, err := h.account(s); err == nil && a != nil {
		a.Prepare(ctx)
	}
	return nil
}

// binary returns the bytes of a plugin: a file's if there is one, else those
// that are compiled in.
func (h *Host) binary(name string) ([]byte, error) {
	p := h.files()[name]
	if p.File == "" {
		return h.config.Plugins[name], nil
	}
	binary, err := plugin.File{Name: name, Path: p.File, SHA256: p.SHA256}.Read()
	kind, hint := ErrConfig, "look at file in [plugins."+tomlKey(name)+"]"
	if p.Installed != nil {
		hint = plugin.ReinstallHint(name, p.Installed)
	}
	var another *plugin.HashError
	switch {
	case errors.As(err, &another) && p.Installed == nil:
		kind, hint = ErrDenied, fmt.Sprintf("if you trust the new file, write in your configuration:\n[plugins.%s]\nsha256 = %q", tomlKey(name), another.Got)
	case another != nil:
		kind = ErrDenied
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid):
		return binary, err
	}
	return nil, &hosterr.Error{Kind: kind, Err: err, Hint: hint}
}

// isolate has a plugin run in processes of its own. Nothing looks at it here: what
// is wrong with it, its first process says.
func (h *Host) isolate(name string, binary []byte) (*program, error) {
	if len(h.config.Worker) == 0 {
		return nil, &hosterr.Error{
			Kind: ErrConfig,
			Err:  fmt.Errorf("plugin %s is to run in a process of its own, and this program starts none", name),
			Hint: "leave isolation out of [plugins." + tomlKey(name) + "], if you trust the plugin; a program that embeds the host sets Worker in its configuration",
		}
	}
	h.tellLack(name, worker.Lacks())
	w := h.foreign.program(binary)
	return &program{hash: w.Hash, apart: w}, nil
}

// tellLack warns, once for each plugin, that a process of its own takes less from it
// on this system than the user may think. lack is empty where that is not so.
func (h *Host) tellLack(name, lack string) {
	if lack == "" {
		return
	}
	if _, told := h.unsealed.LoadOrStore(name, true); !told {
		h.warn("", fmt.Sprintf("plugin %s runs in a process of its own, but this system (%s on %s) does not seal it: what breaks out of the plugin can still %s. Linux on amd64 and arm64 does",
			name, runtime.GOOS, runtime.GOARCH, lack))
	}
}

// RunWorker is the other side of [Config.Worker]: it takes from its process, for
// good, what it does not need, and compiles the plugin that comes from in, or runs it
// until in ends. The process is to end when RunWorker returns.
func RunWorker(in io.Reader, out io.Writer) error { return worker.Serve(in, out) }
