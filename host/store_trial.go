package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/brig"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
)

// trialTime is what a trial may take. What can be used compiles within seconds,
// on a slow machine too.
const trialTime = 25 * time.Second

// trialLimits are what a trial may take. Compiling cannot be called off from
// within, so whoever waits for it ends the process; the processor time is for one
// that nobody waits for any more.
var trialLimits = brig.Limits{CPU: 60, Memory: 1 << 30, File: 64 << 20}

// lateTrial is the end of a trial that took longer.
type lateTrial struct{ limit time.Duration }

func (e lateTrial) Error() string {
	return fmt.Sprintf("it was not compiled within %v, and was ended", e.limit)
}

// try looks at a plugin, compiles it and asks it what it is, in another process.
// What is compiled stays in the cache.
func (s *Store) try(ctx context.Context, binary []byte, hash string) (*PluginInfo, error) {
	f, err := os.CreateTemp("", "wharf-plugin-*.wasm")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(binary)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	args := []string{f.Name(), hash, s.config.CacheDir}
	info, err := s.trial(ctx, args)
	if err == nil && len(info.Findings) > 0 {
		err = errors.New(strings.Join(info.Findings, "; "))
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &fault{ErrPluginRefused, fmt.Errorf("the plugin would be refused: %w", err), ""}
	case info.SHA256 != hash || info.Manifest == nil && info.Provider == nil:
		return nil, fmt.Errorf("the trial of the plugin was one of another")
	}
	return info, nil
}

func (s *Store) trial(ctx context.Context, args []string) (*PluginInfo, error) {
	if len(s.config.Trial) == 0 {
		return inspect(ctx, args)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.patience, lateTrial{s.patience})
	defer cancel()
	p := capability.Process{Command: s.config.Trial[0], Args: append(slices.Clone(s.config.Trial[1:]), args...)}
	out, err := p.Run(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	case out.Code != 0:
		return nil, fmt.Errorf("what looked at it ended with %d (%s)", out.Code, strings.ReplaceAll(out.Stderr, "\n", "; "))
	}
	var info PluginInfo
	d := json.NewDecoder(bytes.NewReader(out.Stdout))
	d.DisallowUnknownFields()
	return &info, d.Decode(&info)
}

// RunTrial is the other side of a trial: it gives the process that it runs in
// limits, for good, looks at the plugin that args name, and writes what it found
// to w. The process is to end when it returns.
func RunTrial(ctx context.Context, w io.Writer, args []string) error {
	if err := brig.Confine(trialLimits); err != nil {
		return err
	}
	info, err := inspect(ctx, args)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(info)
}

// inspect looks at the file that the arguments of a trial name, if it is what it
// was when they were written.
func inspect(ctx context.Context, args []string) (*PluginInfo, error) {
	if len(args) != 3 {
		return nil, fmt.Errorf("a trial has 3 arguments, and not %d", len(args))
	}
	h, err := New(ctx, Config{CacheDir: args[2]})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return h.inspect(ctx, plugin.File{Name: "plugin", Path: args[0], SHA256: args[1]})
}
