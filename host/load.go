package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/internal/worker"
)

// moduleLoad is a plugin that is loaded once, by whoever needs it first, and again
// when its file is another. A load that went wrong is tried again by the next.
type moduleLoad struct {
	mu     sync.Mutex
	module *program
	from   stamp // of the newest file that was looked at
}

// program is a transport plugin, ready to be started: in this process, or, where
// the user wants that, in one of its own for each connection.
type program struct {
	hash   string // of its file
	module *wasm.Module
	apart  guest.Program // nil where it runs in this process
}

// loaded returns what was loaded last, or nil.
func (l *moduleLoad) loaded() *program {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.module
}

// stamp tells the versions of a file apart without reading it.
type stamp struct {
	size    int64
	changed time.Time
	file    fs.FileInfo // nil for none; for os.SameFile
}

// stampOf returns the stamp of a file; one that cannot be looked at has the zero
// stamp.
func stampOf(path string) stamp {
	at, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{at.Size(), at.ModTime(), at}
}

func (s stamp) same(other stamp) bool {
	if s.file == nil || other.file == nil {
		return s.file == nil && other.file == nil
	}
	return s.size == other.size && s.changed.Equal(other.changed) && os.SameFile(s.file, other.file)
}

// files returns the plugins that are loaded from files, by name. It is not to be
// written to.
func (h *Host) files() map[string]config.Plugin {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.plugins
}

// module returns the plugin of that name, ready to be instantiated. A file that
// was replaced since is loaded anew; what runs goes on with the old one. Where the
// new file is no good, that is said once, and new connections have the old one too.
func (h *Host) module(ctx context.Context, name string) (*program, error) {
	load, err := h.loadOf(name)
	if err != nil {
		return nil, err
	}
	load.mu.Lock()
	defer load.mu.Unlock()
	var now stamp // taken before the file is read: a change in between is seen next time
	if p, ok := h.files()[name]; ok {
		now = stampOf(p.File)
	}
	if load.module != nil && (now.same(load.from) || now.file == nil) {
		return load.module, nil
	}
	m, err := h.load(ctx, name)
	switch {
	case err == nil:
		load.module, load.from = m, now
	case load.module != nil && ctx.Err() == nil:
		h.warn("", fmt.Sprintf("plugin %s: its file was replaced, and the new one is not used: %v", name, err))
		load.from = now
	default:
		return nil, err
	}
	return load.module, nil
}

func (h *Host) loadOf(name string) (*moduleLoad, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	load := h.modules[name]
	if load == nil {
		load = &moduleLoad{}
		h.modules[name] = load
	}
	return load, nil
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

// binary returns the bytes of a plugin: a file's if there is one, else those
// that are compiled in.
func (h *Host) binary(name string) ([]byte, error) {
	if p := h.files()[name]; p.File != "" {
		binary, err := plugin.File{Name: name, Path: p.File, SHA256: p.SHA256}.Read()
		if errors.Is(err, fs.ErrNotExist) {
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
