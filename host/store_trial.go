package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/hosterr"
)

// try looks at a plugin and asks it what it is, as [Host.Inspect] does. Where that is
// done in a process of its own, what was compiled stays in the cache.
func (s *Store) try(ctx context.Context, path string, binary []byte) (*PluginInfo, error) {
	h, err := New(ctx, Config{CacheDir: s.config.CacheDir, Worker: s.config.Worker, CompileTimeout: s.patience})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	info, err := h.examine(ctx, "plugin", path, binary)
	if err == nil && len(info.Findings) > 0 {
		err = errors.New(strings.Join(info.Findings, "; "))
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &hosterr.Error{Kind: ErrPluginRefused, Err: fmt.Errorf("the plugin would be refused: %w", err)}
	}
	return info, nil
}
