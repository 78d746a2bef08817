package modules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
	"github.com/wharf-mcp/wharf/host/internal/policyplugin"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/internal/worker"
	"github.com/wharf-mcp/wharf/host/pluginstore"
)

// Inspect examines a plugin, and reads its manifest if it can be loaded. If module is nil, it reads
// the file. A plugin that would be refused is no error: its findings say so. A file that cannot be
// read is an error.
func (m *Cache) Inspect(ctx context.Context, path string, module []byte) (*pluginstore.Info, error) {
	file := plugin.File{Name: nameOf(path), Path: path}
	if module == nil {
		var err error
		if module, err = file.Read(); err != nil {
			return nil, err
		}
	}
	foreign := true
	for _, builtin := range m.config.Builtin {
		foreign = foreign && !bytes.Equal(builtin(), module)
	}
	return m.examine(ctx, file.Name, path, module, foreign)
}

// examine returns the findings about a module. A foreign module is first inspected and described in
// a process of its own, if there are such processes.
func (m *Cache) examine(ctx context.Context, name, path string, binary []byte, foreign bool) (*pluginstore.Info, error) {
	info := &pluginstore.Info{Path: path, SHA256: plugin.Hash(binary), Size: int64(len(binary))}
	apart, k := foreign && len(m.config.Worker) > 0, kindOf(binary)
	var described error
	if apart {
		switch k {
		case aProvider:
			info.Provider, described = m.foreign.compiler.Manifest(ctx, name, binary)
		case aPolicy:
			info.Policy, described = m.foreign.compiler.PolicyManifest(ctx, name, binary)
		default:
			info.Manifest, described = m.foreign.describe(ctx, name, binary)
		}
		if ended := (*worker.RefusedError)(nil); errors.As(described, &ended) && ended.Ended || ctx.Err() != nil {
			return concluded(ctx, info, described)
		}
	}
	found, findings, err := wasm.Inspect(binary, guest.ABI())
	if err != nil {
		info.Findings = []string{err.Error()}
		return info, nil
	}
	info.Imports, info.Exports, info.Functions = found.Imports, found.Exports, found.Functions
	info.MemoryMin, info.MemoryMax = found.MinPages, found.MaxPages
	for _, f := range findings {
		if k == aTransport {
			info.Findings = append(info.Findings, f.String())
		}
	}
	if len(info.Findings) > 0 {
		return info, nil
	}
	switch {
	case apart:
		err = described
	case k == aPolicy:
		var p *policyplugin.Plugin
		if p, err = m.openPolicy(ctx, name, binary, foreign); err == nil {
			info.Policy = p.Manifest()
		}
	case k == aProvider:
		var p *auth.Plugin
		if p, err = m.openProvider(ctx, name, binary, foreign); err == nil {
			info.Provider = p.Manifest()
		}
	default:
		load := m.engine.Load
		if foreign {
			load = m.foreign.module
		}
		var module *wasm.Module
		if module, err = load(ctx, name, binary); err == nil {
			info.Manifest, err = manifest(ctx, guest.Config{Plugin: name, Module: module})
		}
	}
	return concluded(ctx, info, err)
}

// concluded adds a finding that says why the module returned no manifest.
func concluded(ctx context.Context, info *pluginstore.Info, err error) (*pluginstore.Info, error) {
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("inspect %s: %w", info.Path, context.Cause(ctx))
	case errors.Is(err, wasm.ErrClosed):
		return nil, fmt.Errorf("inspect %s: %w", info.Path, hosterr.ErrClosed)
	case err != nil:
		info.Findings = append(info.Findings, err.Error())
	}
	info.Warnings = strangeGrants(info.Manifest)
	return info, nil
}

// MainGrant is the name under which a plugin finds the target of the server entry: its process or
// its socket.
const MainGrant = "main"

// strangeGrants returns a warning for each grant that a manifest wants but no server entry can
// give.
func strangeGrants(manifest *abi.Manifest) (warnings []string) {
	if manifest == nil {
		return nil
	}
	for _, g := range manifest.Grants {
		if g.Name != MainGrant {
			warnings = append(warnings, fmt.Sprintf("it wants %s %q, which no server entry can give: what an entry gives is called %q", g.Kind, g.Name, MainGrant))
		}
	}
	return warnings
}

// nameOf derives the name of a plugin from the name of its file.
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
