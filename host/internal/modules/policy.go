package modules

import (
	"context"
	"fmt"

	"github.com/wharf-mcp/wharf/abi/verdict"
	"github.com/wharf-mcp/wharf/host/internal/policyplugin"
)

// Policy returns the policy plugin of that name, as its file is now.
func (m *Cache) Policy(ctx context.Context, name string) (*policyplugin.Plugin, error) {
	return newest(ctx, m, m.policies, name, m.loadPolicy)
}

func (m *Cache) loadPolicy(ctx context.Context, name string) (*policyplugin.Plugin, error) {
	if !m.Has(name) {
		return nil, &policyplugin.TableError{Err: fmt.Errorf("no plugin is called %q", name)}
	}
	binary, err := m.binary(name)
	if err != nil {
		return nil, err
	}
	if kindOf(binary) != aPolicy {
		return nil, &policyplugin.TableError{Err: fmt.Errorf("%s is no policy plugin: it does not export %s", name, verdict.ExportDecide)}
	}
	p, err := m.openPolicy(ctx, name, binary, m.Files()[name].File != "")
	return p, m.refused(ctx, name, err)
}

// openPolicy loads a policy, which is builtin or foreign.
func (m *Cache) openPolicy(ctx context.Context, name string, binary []byte, foreign bool) (*policyplugin.Plugin, error) {
	policies, err := engine(m, &m.policy, func() (*policyplugin.Engine, error) {
		return policyplugin.NewEngine(policyplugin.EngineConfig{CacheDir: m.config.CacheDir, Unkept: m.unkept})
	})
	switch {
	case err != nil:
		return nil, err
	case foreign:
		return m.foreign.compiler.Policy(ctx, policies, 0, name, binary)
	}
	return policies.Load(ctx, name, binary)
}
