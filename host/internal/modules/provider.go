package modules

import (
	"context"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/worker"
)

// Provider returns the auth provider of that name, as its file is now.
func (m *Cache) Provider(ctx context.Context, name string) (*auth.Plugin, error) {
	m.mu.Lock()
	c, file := m.providers[name], m.files[name].File
	if c == nil {
		c = newCachedModule[auth.Plugin]()
		m.providers[name] = c
	}
	closed := m.closed
	m.mu.Unlock()
	if closed {
		return nil, hosterr.ErrClosed
	}
	return c.get(ctx, name, file, m.loadProvider, m.config.Warn)
}

func (m *Cache) loadProvider(ctx context.Context, name string) (*auth.Plugin, error) {
	binary, err := m.binary(name)
	if err != nil {
		return nil, err
	}
	if !isProvider(binary) {
		return nil, &hosterr.Error{
			Kind: hosterr.ErrPluginRefused, Err: fmt.Errorf("%s is no auth provider: it does not export %s", name, step.ExportStep),
			Hint: "look at provider, and at file in [plugins." + hosterr.TOMLKey(name) + "]",
		}
	}
	p, err := m.openProvider(ctx, name, binary, m.Files()[name].File != "")
	switch {
	case err == nil || ctx.Err() != nil || errors.Is(err, hosterr.ErrClosed):
	case errors.As(err, new(*worker.Refusal)), errors.As(err, new(*worker.StartError)):
		err = m.unloaded(ctx, name, err)
	default:
		err = &hosterr.Error{Kind: hosterr.ErrPluginRefused, Err: err}
	}
	return p, err
}

// openProvider loads a provider: one that is part of the program, or a foreign one.
func (m *Cache) openProvider(ctx context.Context, name string, binary []byte, foreign bool) (*auth.Plugin, error) {
	providers, err := m.authEngine()
	if err != nil {
		return nil, err
	}
	if foreign {
		return m.foreign.compiler.Provider(ctx, providers, 0, name, binary)
	}
	return providers.Load(ctx, name, binary)
}

// authEngine returns what runs providers. It is made when the first one is needed,
// which is never for most hosts.
func (m *Cache) authEngine() (*auth.Engine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.auth != nil:
		return m.auth, nil
	case m.closed:
		return nil, hosterr.ErrClosed
	}
	var err error
	m.auth, err = auth.NewEngine(auth.EngineConfig{CacheDir: m.config.CacheDir, Unkept: m.unkept})
	return m.auth, err
}
