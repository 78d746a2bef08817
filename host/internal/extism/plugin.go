package extism

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	extism "github.com/extism/go-sdk"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// Bounds of one Plugin, over all of its owners.
const (
	maxSeats = 4 // instances that run at a time
	maxIdle  = 4 // instances that are kept for the next call; one of a plugin in Go has 4.7 MiB
)

// Plugin is a module. When nothing refers to the Plugin any more, the module is closed.
type Plugin[M any] struct{ *module[M] }

// module is the part of a Plugin that its engine holds. It must not refer to the Plugin, or the
// Plugin would never be collected.
type module[M any] struct {
	config   *Config[M]
	name     string
	runtime  *wasm.Extism
	owned    bool // the runtime is for this module alone, and closed with it
	compiled *extism.CompiledPlugin
	manifest *M
	seats    chan struct{}

	mu     sync.Mutex
	idle   []*instance // the most recently used is last
	closed bool
}

// Owner is whose data an instance may have: an instance that has taken a call of one owner takes none
// of another. It is compared with ==.
type Owner any

// Name returns the name under which the plugin was loaded.
func (p *Plugin[M]) Name() string { return p.name }

// Manifest returns the manifest of the plugin, which has been checked. The caller must not change it.
func (p *Plugin[M]) Manifest() *M { return p.manifest }

// Call calls the plugin in an instance of the owner. An instance that has failed is not used again; the
// next call gets another. The error is a [Violation], or wraps the end of ctx or [ErrClosed].
func (p *Plugin[M]) Call(ctx context.Context, owner Owner, in []byte) ([]byte, error) {
	defer runtime.KeepAlive(p) // its module stays open during the call
	return p.call(ctx, owner, p.config.Call, in)
}

// blame returns the error of something that the plugin broke.
func (m *module[M]) blame(doing string, err error) error {
	if m.config.Blame == nil {
		return fmt.Errorf("%s %s: %s: %w", m.config.Kind, m.name, doing, err)
	}
	return m.config.Blame(m.name, doing, err)
}

// call calls an export in an instance that meanwhile runs nothing else. owner is nil for a call
// that gives the instance no data of an owner.
func (m *module[M]) call(ctx context.Context, owner Owner, export string, in []byte) ([]byte, error) {
	select {
	case m.seats <- struct{}{}:
		defer func() { <-m.seats }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	i, err := m.take(ctx, owner)
	if err != nil {
		return nil, err
	}
	out, err := i.call(ctx, export, in, m.config.MaxReply)
	if err != nil {
		i.close()
		return nil, err
	}
	m.give(i)
	return out, nil
}

// take returns the idle instance that the owner has used last, or else an idle one
// without an owner, or else a new one.
func (m *module[M]) take(ctx context.Context, owner Owner) (*instance, error) {
	m.mu.Lock()
	closed, best := m.closed, -1
	for n, i := range m.idle {
		if i.owner == owner || i.owner == nil && best < 0 {
			best = n
		}
	}
	var i *instance
	if best >= 0 {
		i = m.idle[best]
		m.idle = slices.Delete(m.idle, best, best+1)
	}
	m.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	if i == nil {
		plugin, err := m.compiled.Instance(ctx, extism.PluginInstanceConfig{ModuleConfig: m.runtime.ModuleConfig(io.Discard)})
		if err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
		plugin.SetLogger(func(extism.LogLevel, string) {}) // the logs of plugins may hold secrets
		i = &instance{plugin: plugin}
	}
	i.owner = owner
	return i, nil
}

// give keeps an instance for the next call of its owner. If there are too many, it closes the one
// that was unused for longest.
func (m *module[M]) give(i *instance) {
	m.mu.Lock()
	spare := i
	if !m.closed && i.calls < maxCalls && i.bytes < maxBytes {
		m.idle, spare = append(m.idle, i), nil
	}
	if len(m.idle) > maxIdle {
		spare = m.idle[0]
		m.idle = slices.Delete(m.idle, 0, 1)
	}
	m.mu.Unlock()
	if spare != nil {
		spare.close()
	}
}

// close waits until no instance runs, and frees everything. Later calls fail with ErrClosed.
func (m *module[M]) close() error {
	m.mu.Lock()
	m.closed = true
	idle := m.idle
	m.idle = nil
	m.mu.Unlock()
	for range maxSeats {
		m.seats <- struct{}{}
	}
	for _, i := range idle {
		i.close()
	}
	err := m.compiled.Close(context.Background())
	if m.owned {
		err = errors.Join(err, m.runtime.Close())
	}
	for range maxSeats {
		<-m.seats
	}
	return err
}

// Bounds of the use of one instance. Some languages free no memory, and some plugins keep what
// they have read.
const (
	maxCalls = 256
	maxBytes = 4 << 20
)

// instance is a running module. One goroutine uses it at a time.
type instance struct {
	plugin *extism.Plugin
	owner  Owner // whose calls it takes; nil if it has only returned its manifest
	calls  int
	bytes  int
}

// call calls an export. After an error the instance cannot be used again.
func (i *instance) call(ctx context.Context, export string, in []byte, most int) ([]byte, error) {
	code, out, err := i.plugin.CallWithContext(ctx, export, in)
	i.calls++
	i.bytes += len(in) + len(out)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		trap := wasm.ExtismTrap(err)
		if errors.Is(trap, context.DeadlineExceeded) {
			return nil, Violation("it was still at work when its time was over")
		}
		return nil, Violation("it " + cleantext.Line(trap.Error(), 1<<10))
	case code != 0:
		return nil, Violationf("%s returned %d, and not 0", export, code)
	case len(out) > most:
		return nil, Violationf("it replied with %d bytes, there may be %d", len(out), most)
	}
	// Extism's kernel keeps input and output until the next call, so call an export that cannot
	// exist. This also shows whether the module has ended by proc_exit(0), which Extism takes for
	// success.
	if _, _, err := i.plugin.CallWithContext(context.Background(), "", nil); err == nil || err.Error() != "unknown function: " {
		return nil, Violationf("it left in the middle of a call")
	}
	return out, nil
}

// close frees the instance.
func (i *instance) close() { _ = i.plugin.CloseWithContext(context.Background()) }
