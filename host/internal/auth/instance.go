package auth

import (
	"context"
	"errors"

	extism "github.com/extism/go-sdk"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// An instance is used for so many calls and bytes. Languages that free nothing
// live with that, and so do those that hold on to what they have seen.
const (
	maxCalls = 256
	maxBytes = 4 << 20
)

// instance is a module that runs. One goroutine uses it at a time.
type instance struct {
	plugin *extism.Plugin
	owner  *owner // whose steps it takes; nil if it has only described itself
	calls  int
	bytes  int
}

// instance starts an instance. The real clock and randomness are settings of
// each one of them.
func (m *module) instance(ctx context.Context) (*instance, error) {
	out := printer{m.name, m.engine.config.Print}
	plugin, err := m.compiled.Instance(ctx, extism.PluginInstanceConfig{ModuleConfig: m.runtime.ModuleConfig(out)})
	if err != nil {
		return nil, err
	}
	plugin.SetLogger(func(_ extism.LogLevel, text string) { _, _ = out.Write([]byte(text)) })
	return &instance{plugin: plugin}, nil
}

// printer passes on what a module prints, if that is wanted.
type printer struct {
	name  string
	print func(provider, text string)
}

func (p printer) Write(b []byte) (int, error) {
	if p.print != nil {
		p.print(p.name, string(b))
	}
	return len(b), nil
}

// call calls an export. After an error the instance is of no more use.
func (i *instance) call(ctx context.Context, export string, in []byte) ([]byte, error) {
	code, out, err := i.plugin.CallWithContext(ctx, export, in)
	i.calls++
	i.bytes += len(in) + len(out)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, stopped(err)
	case code != 0:
		return nil, violationf("%s returned %d, and not 0", export, code)
	case len(out) > step.MaxReply:
		return nil, violationf("it replied with %d bytes, there may be %d", len(out), step.MaxReply)
	}
	if err := i.wipe(); err != nil {
		return nil, err
	}
	return out, nil
}

// stopped says why a call came to no end.
func stopped(err error) error {
	trap := wasm.ExtismTrap(err)
	if errors.Is(trap, context.DeadlineExceeded) {
		return violation("it was still at work when its time was over")
	}
	return violation("it " + cleantext.Line(trap.Error(), 1<<10))
}

// wipe takes input and output out of the kernel's memory, which keeps them until
// the next call, and finds out whether the module has left by proc_exit(0), which
// Extism takes for success. It calls an export that cannot be there.
func (i *instance) wipe() error {
	_, _, err := i.plugin.CallWithContext(context.Background(), "", nil)
	if err == nil || err.Error() != "unknown function: " {
		return violationf("it left in the middle of a call")
	}
	return nil
}

// old reports whether an instance has done its part.
func (i *instance) old() bool { return i.calls >= maxCalls || i.bytes >= maxBytes }

// close gives the memory back.
func (i *instance) close() { _ = i.plugin.CloseWithContext(context.Background()) }
