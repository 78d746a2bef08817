package modules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/internal/worker"
)

// Transport returns the transport of that name, as its file is now. A connection keeps the version
// that it was started with. Transport compiles nothing in this process.
func (m *Cache) Transport(ctx context.Context, name string) (*Transport, error) {
	return newest(ctx, m, m.transports, name, m.loadTransport)
}

func (m *Cache) loadTransport(ctx context.Context, name string) (*Transport, error) {
	binary, err := m.transportBinary(name)
	if err != nil {
		return nil, err
	}
	file := m.Files()[name]
	if file.Isolation == config.IsolationProcess { // the first process that runs it reports its faults
		if len(m.config.Worker) == 0 {
			return nil, hosterr.Errorf(hosterr.ErrConfig, "leave isolation out of [plugins."+hosterr.TOMLKey(name)+"], if you trust the plugin; a program that embeds the host sets Worker in its configuration",
				"plugin %s is to run in a process of its own, and this program starts none", name)
		}
		m.tellLack(name, worker.Lacks())
		w := m.foreign.program(binary)
		return &Transport{Hash: w.Hash, Apart: w}, nil
	}
	load := m.engine.Load
	if file.File != "" {
		load = m.foreign.module
	}
	module, err := load(ctx, name, binary)
	if err != nil {
		return nil, m.unloaded(ctx, name, err)
	}
	return &Transport{Hash: module.Hash(), Module: module}, nil
}

// Transports returns the sorted names that the transport of a server entry may have. It reads all
// plugins, so it is meant for an error; one that cannot be read is left out.
func (m *Cache) Transports() []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(m.config.Builtin)), maps.Keys(m.Files()))
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return m.CheckTransport(name) != nil })
}

// CheckTransport returns an error if the plugin of that name cannot be read or is of another kind. It loads nothing.
func (m *Cache) CheckTransport(name string) error {
	_, err := m.transportBinary(name)
	return err
}

// transportBinary returns the module of a transport.
func (m *Cache) transportBinary(name string) ([]byte, error) {
	binary, err := m.binary(name)
	if err != nil {
		return nil, err
	}
	if k := kindOf(binary); k != aTransport {
		kind := hosterr.ErrPluginRefused
		if m.Files()[name].File == "" { // not the name of a transport: these are known
			kind = hosterr.ErrUnknownTransport
		}
		return nil, hosterr.Errorf(kind, "look at transport in the entry, and at the plugin that is called "+name,
			"%s is %s, and no transport", name, k)
	}
	return binary, nil
}

// unloaded returns the error for a plugin that could not be inspected or compiled: err with a kind
// and a hint.
func (m *Cache) unloaded(ctx context.Context, name string, err error) error {
	var ended *worker.RefusedError
	switch {
	case ctx.Err() != nil: // the plugin was not examined
		return fmt.Errorf("load plugin %s: %w", name, context.Cause(ctx))
	case errors.Is(err, wasm.ErrClosed):
		return fmt.Errorf("load plugin %s: %w", name, hosterr.ErrClosed)
	case errors.As(err, new(*worker.StartError)):
		return hosterr.Errorf(hosterr.ErrConfig, "was this program replaced while it ran? Then start it again; a program that embeds the host names it as Worker in its configuration",
			"load plugin %s: %w", name, err)
	case errors.As(err, &ended) && ended.Late && m.config.Timeout > 0:
		return &hosterr.Error{
			Kind: hosterr.ErrTimeout,
			Err:  &guest.PluginError{Plugin: name, Op: "compile", Err: err},
			Hint: "a plugin is compiled once, and that is kept: try again with a longer --timeout, or --timeout 0",
		}
	case errors.As(err, &ended) && ended.Ended:
		return &hosterr.Error{
			Kind: hosterr.ErrPluginRefused,
			Err:  &guest.PluginError{Plugin: name, Op: "compile", Err: err},
			Hint: "nothing else was harmed. A plugin that cannot be compiled within these limits is broken or\nhostile: install another version of it, or take it out of your configuration",
		}
	}
	return &hosterr.Error{Kind: hosterr.ErrPluginRefused, Err: &guest.PluginError{Plugin: name, Op: "load", Err: err}}
}

// binary returns the bytes of a plugin: those of its file, or those of the builtin plugin if there
// is no file. It returns nil if there is neither.
func (m *Cache) binary(name string) ([]byte, error) {
	p := m.Files()[name]
	if p.File == "" {
		module := m.config.Builtin[name]
		if module == nil {
			return nil, nil
		}
		return module(), nil
	}
	binary, err := plugin.File{Name: name, Path: p.File, SHA256: p.SHA256}.Read()
	kind, hint := hosterr.ErrConfig, fmt.Sprintf("name the file that is there in your configuration:\n[plugins.%s]\nfile = \"path/to/%s.wasm\"", hosterr.TOMLKey(name), name)
	if p.Installed != nil {
		hint = plugin.RestoreHint(name)
	}
	var another *plugin.HashError
	switch {
	case errors.As(err, &another) && p.Installed == nil:
		kind, hint = hosterr.ErrDenied, fmt.Sprintf("if you trust the new file, write in your configuration:\n[plugins.%s]\nsha256 = %q", hosterr.TOMLKey(name), another.Got)
	case another != nil:
		kind = hosterr.ErrDenied
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid):
		return binary, err
	}
	return nil, &hosterr.Error{Kind: kind, Err: err, Hint: hint}
}

// tellLack warns, once for each plugin, of what a plugin in a process of its own can still do on
// this system. lack is empty if such a process is sealed.
func (m *Cache) tellLack(name, lack string) {
	if lack == "" {
		return
	}
	if _, told := m.unsealed.LoadOrStore(name, true); !told {
		m.config.Warn(name, fmt.Sprintf("plugin %s runs in a process of its own, but this system (%s on %s) does not seal it: what breaks out of the plugin can still %s. Linux on amd64 and arm64 does",
			name, runtime.GOOS, runtime.GOARCH, lack))
	}
}
