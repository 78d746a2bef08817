package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	extism "github.com/extism/go-sdk"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// Provider is a provider as the flows of one account see it. Both methods are safe
// for concurrent use; the errors of Step are *Error, or wrap the end of ctx.
type Provider interface {
	Manifest() *step.Manifest
	Step(ctx context.Context, call *step.Call) (*step.Reply, error)
}

// Bounds of one Plugin, over all of its accounts.
const (
	maxSeats = 4 // instances at work at a time
	maxIdle  = 4 // instances that wait for the next step; one of a provider in Go has 4.7 MiB
)

// Plugin is a provider in a module. It takes no steps by itself: each account gets
// a Provider of its own from [Plugin.ForAccount], and instances of its own by that. When
// nothing refers to the Plugin and its Providers any more, the module is closed.
type Plugin struct{ *module }

// module is what a Plugin has of its engine. Nothing in it refers to the Plugin, which
// could not be collected otherwise.
type module struct {
	name     string
	engine   *Engine
	runtime  *wasm.Extism // the engine's, or one for this module alone
	compiled *extism.CompiledPlugin
	manifest *step.Manifest
	seats    chan struct{}

	mu     sync.Mutex
	idle   []*instance // the one that was used last is last
	closed bool
}

// forAccount is a Plugin at work for one account. What a step leaves in the memory
// of an instance is found by steps of the same forAccount alone.
type forAccount struct {
	*Plugin
	owner *owner
}

// owner tells the instances of one account from those of all others.
type owner struct{ _ byte }

// Name is the name that the plugin was loaded under.
func (p *Plugin) Name() string { return p.name }

// Manifest is what the provider says of itself, checked. It is not to be changed.
func (p *Plugin) Manifest() *step.Manifest { return p.manifest }

// ForAccount returns the provider for one account. An instance that has taken a
// step for it takes none for any other.
func (p *Plugin) ForAccount() Provider { return &forAccount{p, new(owner)} }

// Step takes one step. An instance that has failed is not used again, and the
// next step gets another.
func (p *forAccount) Step(ctx context.Context, call *step.Call) (*step.Reply, error) {
	defer runtime.KeepAlive(p.Plugin) // its module stays open during the step
	in, err := json.Marshal(call)
	if err == nil && len(in) > step.MaxCall {
		err = violationf("its state and the result of its last action have %d bytes, there may be %d", len(in), step.MaxCall)
	}
	if err != nil {
		return nil, blame(p.name, "step", err)
	}
	out, err := p.call(ctx, p.owner, step.ExportStep, in)
	if err != nil {
		return nil, blame(p.name, "step", err)
	}
	reply, err := readReply(out)
	if err != nil {
		return nil, blame(p.name, "step", err)
	}
	return reply, nil
}

// describe asks for the manifest.
func (m *module) describe(ctx context.Context) error {
	out, err := m.call(ctx, nil, step.ExportDescribe, nil)
	if err == nil {
		m.manifest, err = ReadManifest(out)
	}
	if err != nil {
		return blame(m.name, "describe", err)
	}
	return nil
}

// call calls an export in an instance that is at work for nothing else. The owner
// is nil for a call that tells the instance nothing of any account.
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

// take returns an idle instance of that owner, or makes one.
func (m *module) take(ctx context.Context, owner *owner) (*instance, error) {
	i, err := m.reuse(owner)
	if err != nil {
		return nil, err
	}
	if i == nil {
		if i, err = m.instance(ctx); err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
	}
	i.owner = owner
	return i, nil
}

// reuse returns the idle instance that the owner has used last, or else one that
// has no owner yet, or nil.
func (m *module) reuse(owner *owner) (*instance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errClosed
	}
	best := -1
	for n, i := range m.idle {
		if i.owner == owner || i.owner == nil && best < 0 {
			best = n
		}
	}
	if best < 0 {
		return nil, nil
	}
	i := m.idle[best]
	m.idle = slices.Delete(m.idle, best, best+1)
	return i, nil
}

// give keeps an instance for the next step of its owner. Where there are too many,
// the one that has waited longest goes.
func (m *module) give(i *instance) {
	m.mu.Lock()
	spare := i
	if !m.closed && !i.old() {
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

// close waits until no instance is at work, and gives everything back. Steps that
// come later find that it is closed.
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
	if m.runtime != m.engine.runtime {
		err = errors.Join(err, m.runtime.Close())
	}
	for range maxSeats {
		<-m.seats
	}
	return err
}
