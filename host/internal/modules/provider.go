package modules

import (
	"context"
	"errors"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/worker"
)

// Provider returns the auth provider of that name, as its file is now.
func (m *Cache) Provider(ctx context.Context, name string) (*auth.Plugin, error) {
	return newest(ctx, m, m.providers, name, m.loadProvider)
}

func (m *Cache) loadProvider(ctx context.Context, name string) (*auth.Plugin, error) {
	binary, err := m.binary(name)
	if err != nil {
		return nil, err
	}
	if !isProvider(binary) {
		return nil, hosterr.Errorf(hosterr.ErrPluginRefused, "look at provider, and at file in [plugins."+hosterr.TOMLKey(name)+"]",
			"%s is no auth provider: it does not export %s", name, step.ExportStep)
	}
	p, err := m.openProvider(ctx, name, binary, m.Files()[name].File != "")
	switch {
	case err == nil || ctx.Err() != nil || errors.Is(err, hosterr.ErrClosed):
	case errors.As(err, new(*worker.RefusedError)), errors.As(err, new(*worker.StartError)):
		err = m.unloaded(ctx, name, err)
	default:
		err = &hosterr.Error{Kind: hosterr.ErrPluginRefused, Err: err}
	}
	return p, err
}

// openProvider loads a provider, which is builtin or foreign. It makes the engine of the providers
// on first use, because most hosts never need it.
func (m *Cache) openProvider(ctx context.Context, name string, binary []byte, foreign bool) (*auth.Plugin, error) {
	m.mu.Lock()
	var err error
	if m.closed && m.auth == nil {
		err = hosterr.ErrClosed
	} else if m.auth == nil {
		m.auth, err = auth.NewEngine(auth.EngineConfig{CacheDir: m.config.CacheDir, Unkept: m.unkept})
	}
	providers := m.auth
	m.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case foreign:
		return m.foreign.compiler.Provider(ctx, providers, 0, name, binary)
	}
	return providers.Load(ctx, name, binary)
}
