package modules

import (
	"context"
	"errors"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/extism"
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
	if kindOf(binary) != aProvider {
		return nil, hosterr.Errorf(hosterr.ErrPluginRefused, "look at provider, and at file in [plugins."+hosterr.TOMLKey(name)+"]",
			"%s is no auth provider: it does not export %s", name, step.ExportStep)
	}
	p, err := m.openProvider(ctx, name, binary, m.Files()[name].File != "")
	return p, m.refused(ctx, name, err)
}

// refused returns the error of a plugin on Extism that could not be loaded: err with a kind and a hint.
func (m *Cache) refused(ctx context.Context, name string, err error) error {
	switch {
	case err == nil || ctx.Err() != nil || errors.Is(err, hosterr.ErrClosed):
		return err
	case errors.As(err, new(*worker.RefusedError)), errors.As(err, new(*worker.StartError)):
		return m.unloaded(ctx, name, err)
	}
	return &hosterr.Error{Kind: hosterr.ErrPluginRefused, Err: err}
}

// openProvider loads a provider, which is builtin or foreign.
func (m *Cache) openProvider(ctx context.Context, name string, binary []byte, foreign bool) (*auth.Plugin, error) {
	providers, err := engine(m, &m.auth, func() (*auth.Engine, error) {
		return auth.NewEngine(auth.EngineConfig{CacheDir: m.config.CacheDir, Unkept: m.unkept})
	})
	switch {
	case err != nil:
		return nil, err
	case foreign:
		return m.foreign.compiler.Provider(ctx, providers, 0, name, binary)
	}
	return providers.Load(ctx, name, binary)
}

// engine returns the engine of a kind of plugins, which is at place. It is made on first use, because most
// hosts never need it.
func engine[M any](m *Cache, place **extism.Engine[M], open func() (*extism.Engine[M], error)) (*extism.Engine[M], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	if m.closed && *place == nil {
		err = hosterr.ErrClosed
	} else if *place == nil {
		*place, err = open()
	}
	return *place, err
}
