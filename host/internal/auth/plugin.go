package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	extism "github.com/extism/go-sdk"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// Bounds of one Plugin, over all of its accounts.
const (
	maxSeats = 4 // instances that run at a time
	maxIdle  = 4 // instances that are kept for the next step; one of a provider in Go has 4.7 MiB
)

// Plugin is a provider in a module. It takes no steps by itself: each account gets
// a Provider of its own from [Plugin.ForAccount], with instances of its own. When
// nothing refers to the Plugin and its Providers any more, the module is closed.
type Plugin struct{ *module }

// module is the part of a Plugin that its engine holds. It must not refer to the Plugin, or the
// Plugin would never be collected.
type module struct {
	name     string
	runtime  *wasm.Extism
	owned    bool // the runtime is for this module alone, and closed with it
	compiled *extism.CompiledPlugin
	manifest *step.Manifest
	seats    chan struct{}

	mu     sync.Mutex
	idle   []*instance // the most recently used is last
	closed bool
}

// forAccount is a Plugin as the Provider of one account. Only steps of the same forAccount run in
// an instance that holds data of an earlier step.
type forAccount struct {
	*Plugin
	owner *owner
}

// owner distinguishes the instances of one account from all others.
type owner struct{ _ byte }

// Name returns the name under which the plugin was loaded.
func (p *Plugin) Name() string { return p.name }

// Manifest returns the provider's manifest, which has been checked. The caller must not change it.
func (p *Plugin) Manifest() *step.Manifest { return p.manifest }

// ForAccount returns the provider for one account. An instance that has taken a
// step for it takes none for any other.
func (p *Plugin) ForAccount() Provider { return &forAccount{p, new(owner)} }

// Step takes one step. An instance that has failed is not used again; the next step gets another.
func (p *forAccount) Step(ctx context.Context, call *step.Call) (*step.Reply, error) {
	defer runtime.KeepAlive(p.Plugin) // its module stays open during the step
	in, err := json.Marshal(call)
	if err == nil && len(in) > step.MaxCall {
		err = violationf("its state and the result of its last action have %d bytes, there may be %d", len(in), step.MaxCall)
	}
	if err != nil {
		return nil, blame(p.name, "step", err)
	}
	var reply *step.Reply
	out, err := p.call(ctx, p.owner, step.ExportStep, in)
	if err == nil {
		reply, err = readReply(out)
	}
	if err != nil {
		return nil, blame(p.name, "step", err)
	}
	return reply, nil
}

// call calls an export in an instance that meanwhile runs nothing else. owner is nil for a call
// that gives the instance no data of an account.
func (m *module) call(ctx context.Context, owner *owner, export string, in []byte) ([]byte, error) {
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
	out, err := i.call(ctx, export, in)
	if err != nil {
		i.close()
		return nil, err
	}
	m.give(i)
	return out, nil
}

// take returns the idle instance that the owner has used last, or else an idle one
// without an owner, or else a new one.
func (m *module) take(ctx context.Context, owner *owner) (*instance, error) {
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
		return nil, errClosed
	}
	if i == nil {
		plugin, err := m.compiled.Instance(ctx, extism.PluginInstanceConfig{ModuleConfig: m.runtime.ModuleConfig(io.Discard)})
		if err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
		plugin.SetLogger(func(extism.LogLevel, string) {}) // the logs of providers may hold secrets
		i = &instance{plugin: plugin}
	}
	i.owner = owner
	return i, nil
}

// give keeps an instance for the next step of its owner. If there are too many, it closes the one
// that was unused for longest.
func (m *module) give(i *instance) {
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

// close waits until no instance runs, and frees everything. Later steps fail with errClosed.
func (m *module) close() error {
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

// Bounds of the use of one instance. Some languages free no memory, and some providers keep what
// they have read.
const (
	maxCalls = 256
	maxBytes = 4 << 20
)

// instance is a running module. One goroutine uses it at a time.
type instance struct {
	plugin *extism.Plugin
	owner  *owner // whose steps it takes; nil if it has only returned its manifest
	calls  int
	bytes  int
}

// call calls an export. After an error the instance cannot be used again.
func (i *instance) call(ctx context.Context, export string, in []byte) ([]byte, error) {
	code, out, err := i.plugin.CallWithContext(ctx, export, in)
	i.calls++
	i.bytes += len(in) + len(out)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		trap := wasm.ExtismTrap(err)
		if errors.Is(trap, context.DeadlineExceeded) {
			return nil, violation("it was still at work when its time was over")
		}
		return nil, violation("it " + cleantext.Line(trap.Error(), 1<<10))
	case code != 0:
		return nil, violationf("%s returned %d, and not 0", export, code)
	case len(out) > step.MaxReply:
		return nil, violationf("it replied with %d bytes, there may be %d", len(out), step.MaxReply)
	}
	// Extism's kernel keeps input and output until the next call, so call an export that cannot
	// exist. This also shows whether the module has ended by proc_exit(0), which Extism takes for
	// success.
	if _, _, err := i.plugin.CallWithContext(context.Background(), "", nil); err == nil || err.Error() != "unknown function: " {
		return nil, violationf("it left in the middle of a call")
	}
	return out, nil
}

// close frees the instance.
func (i *instance) close() { _ = i.plugin.CloseWithContext(context.Background()) }
