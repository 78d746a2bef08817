package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/internal/worker"
	"github.com/wharf-mcp/wharf/host/pluginstore"
)

// Inspect looks at a plugin file, and asks it to describe itself if it can be loaded.
// That a file would be refused is no error, and is in its findings. That it cannot be
// read is an error.
func (h *Host) Inspect(ctx context.Context, path string) (*pluginstore.Info, error) {
	file := plugin.File{Name: nameOf(path), Path: path}
	binary, err := file.Read()
	if err != nil {
		return nil, err
	}
	return h.examine(ctx, file.Name, path, binary, true)
}

// InspectModule is Inspect for a module that was read already. path is where it comes
// from, for errors.
func (h *Host) InspectModule(ctx context.Context, path string, binary []byte) (*pluginstore.Info, error) {
	return h.examine(ctx, "plugin", path, binary, true)
}

// InspectBuiltin is Inspect for a plugin of [Config.Plugins], which has no path.
func (h *Host) InspectBuiltin(ctx context.Context, name string) (*pluginstore.Info, error) {
	binary, ok := h.config.Plugins[name]
	if !ok {
		return nil, fmt.Errorf("inspect %s: %w", name, ErrUnknownTransport)
	}
	return h.examine(ctx, name, "", binary, false)
}

// examine returns what is found in a module. A foreign one is inspected and asked in a
// process of its own first, where there are such processes.
func (h *Host) examine(ctx context.Context, name, path string, binary []byte, foreign bool) (*pluginstore.Info, error) {
	info := &pluginstore.Info{Path: path, SHA256: plugin.Hash(binary), Size: int64(len(binary))}
	apart := foreign && h.foreign.apart()
	var described error
	if apart {
		described = h.ask(ctx, info, name, binary)
		if ended := (*worker.Refusal)(nil); errors.As(described, &ended) && ended.Ended || ctx.Err() != nil {
			return h.concluded(ctx, info, name, described)
		}
	}
	provider := isProvider(binary)
	found, findings, err := wasm.Inspect(binary, guest.Surface(), wasm.Limits{})
	if err != nil {
		info.Findings = []string{err.Error()}
		return info, nil
	}
	info.Imports, info.Exports, info.Functions = found.Imports, found.Exports, found.Functions
	info.MemoryMin, info.MemoryMax = found.MinPages, found.MaxPages
	for _, f := range findings {
		if !provider {
			info.Findings = append(info.Findings, f.String())
		}
	}
	if len(info.Findings) > 0 {
		return info, nil
	}
	switch {
	case apart:
		err = described
	case provider:
		info.Provider, err = h.tryProvider(ctx, name, binary, foreign)
	default:
		info.Manifest, err = h.describe(ctx, name, binary, foreign)
	}
	return h.concluded(ctx, info, name, err)
}

// ask has a module say what it is in a process of its own.
func (h *Host) ask(ctx context.Context, info *pluginstore.Info, name string, binary []byte) (err error) {
	if isProvider(binary) {
		info.Provider, err = h.foreign.compiler.Manifest(ctx, name, binary)
	} else {
		info.Manifest, err = h.foreign.describe(ctx, name, binary)
	}
	return err
}

// concluded adds to what was found why the module did not say what it is.
func (h *Host) concluded(ctx context.Context, info *pluginstore.Info, name string, err error) (*pluginstore.Info, error) {
	switch {
	case ctx.Err() != nil:
		return nil, explain(name, fmt.Errorf("inspect %s: %w", info.Path, context.Cause(ctx)))
	case errors.Is(err, wasm.ErrClosed):
		return nil, fmt.Errorf("inspect %s: %w", info.Path, ErrClosed)
	case err != nil:
		info.Findings = append(info.Findings, err.Error())
	}
	info.Warnings = strangeGrants(info.Manifest)
	return info, nil
}

// strangeGrants tells the grants that a manifest wants and no server entry can give.
func strangeGrants(m *abi.Manifest) (warnings []string) {
	if m == nil {
		return nil
	}
	for _, g := range m.Grants {
		if g.Name != mainGrant {
			warnings = append(warnings, fmt.Sprintf("it wants %s %q, which no server entry can give: what an entry gives is called %q", g.Kind, g.Name, mainGrant))
		}
	}
	return warnings
}

// describe runs a plugin for the one event that asks what it is.
func (h *Host) describe(ctx context.Context, name string, binary []byte, foreign bool) (*abi.Manifest, error) {
	load := h.engine.Load
	if foreign {
		load = h.foreign.module
	}
	m, err := load(ctx, name, binary)
	if err != nil {
		return nil, err
	}
	inst, err := guest.New(ctx, guest.Config{Plugin: name, Module: m})
	if err != nil {
		return nil, err
	}
	defer inst.Close(ctx)
	manifest := inst.Manifest()
	return &manifest, nil
}

// tryProvider has an auth provider describe itself.
func (h *Host) tryProvider(ctx context.Context, name string, binary []byte, foreign bool) (*step.Manifest, error) {
	p, err := h.signer(ctx, name, binary, foreign)
	if err != nil {
		return nil, err
	}
	return p.Manifest(), nil
}

// nameOf makes the name of a plugin from that of its file.
func nameOf(path string) string {
	base := strings.ToLower(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, base)
	if name = strings.Trim(name, "-"); plugin.ValidName(name) {
		return name
	}
	return "plugin"
}
