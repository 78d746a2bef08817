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
)

// MaxPluginSize is how large a plugin file may be, in bytes.
const MaxPluginSize = plugin.MaxSize

// PluginInfo is what can be said of a plugin file.
type PluginInfo struct {
	Path      string
	SHA256    string        // lower-case hex
	Size      int64         // bytes
	Manifest  *abi.Manifest // what it says of itself; nil for an auth provider, and where it could not be asked
	Provider  *ProviderInfo // the same of an auth provider; nil for a transport
	Imports   []string      // with signatures
	Exports   []string
	Functions int
	MemoryMin uint32   // pages of 64 KiB
	MemoryMax uint32   // 0 for no limit of its own
	Findings  []string // why it would be refused; empty when it can be used
	Warnings  []string // what of it will not work as it is meant to
}

// ProviderInfo is what an auth provider says of itself.
type ProviderInfo = step.Manifest

// Inspect looks at a plugin file, and asks it to describe itself if it can be
// loaded. A file that would be refused is no error: its findings say why. A
// file that cannot be read is.
func (h *Host) Inspect(ctx context.Context, path string) (*PluginInfo, error) {
	return h.inspect(ctx, plugin.File{Name: nameOf(path), Path: path})
}

// InspectBuiltin is Inspect for a plugin of [Config.Plugins], which is in no file and
// has no path.
func (h *Host) InspectBuiltin(ctx context.Context, name string) (*PluginInfo, error) {
	binary, ok := h.config.Plugins[name]
	if !ok {
		return nil, fmt.Errorf("inspect %s: %w", name, ErrUnknownTransport)
	}
	return h.examine(ctx, name, "", binary)
}

func (h *Host) inspect(ctx context.Context, file plugin.File) (*PluginInfo, error) {
	binary, err := file.Read()
	if err != nil {
		return nil, err
	}
	return h.examine(ctx, file.Name, file.Path, binary)
}

// examine says what can be said of a module. One from a file is looked at and asked
// in a process of its own first, where there are such processes.
func (h *Host) examine(ctx context.Context, name, path string, binary []byte) (*PluginInfo, error) {
	info := &PluginInfo{Path: path, SHA256: plugin.Hash(binary), Size: int64(len(binary))}
	apart := path != "" && h.foreign.apart()
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
		info.Provider, err = h.tryProvider(ctx, name, binary, path != "")
	default:
		info.Manifest, err = h.describe(ctx, name, binary, path != "")
	}
	return h.concluded(ctx, info, name, err)
}

// ask has a module say what it is in a process of its own.
func (h *Host) ask(ctx context.Context, info *PluginInfo, name string, binary []byte) (err error) {
	if isProvider(binary) {
		info.Provider, err = h.foreign.compiler.Manifest(ctx, name, binary)
	} else {
		info.Manifest, err = h.foreign.describe(ctx, name, binary)
	}
	return err
}

// concluded adds to what was found why the module did not say what it is.
func (h *Host) concluded(ctx context.Context, info *PluginInfo, name string, err error) (*PluginInfo, error) {
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
func (h *Host) tryProvider(ctx context.Context, name string, binary []byte, foreign bool) (*ProviderInfo, error) {
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
