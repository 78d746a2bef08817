package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
// a Provider of its own from [Plugin.ForAccount], and instances of its own by that.
type Plugin struct {
	name     string
	engine   *Engine
	runtime  *wasm.Extism
	own      bool // the runtime is for this plugin alone
	compiled *extism.CompiledPlugin
	manifest step.Manifest
	seats    chan struct{}

	mu     sync.Mutex
	idle   []*instance // the one that was used last is last
	closed bool
}

// forAccount is a Plugin at work for one account. What a step leaves in the memory
// of an instance is found by steps of the same forAccount alone.
type forAccount struct{ *Plugin }

func newPlugin(name string, e *Engine, runtime *wasm.Extism, compiled *extism.CompiledPlugin) *Plugin {
	return &Plugin{name: name, engine: e, runtime: runtime, own: runtime != e.runtime, compiled: compiled, seats: make(chan struct{}, maxSeats)}
}

// Name is the name that the plugin was loaded under.
func (p *Plugin) Name() string { return p.name }

// Manifest is what the provider says of itself, checked. It is not to be changed.
func (p *Plugin) Manifest() *step.Manifest { return &p.manifest }

// ForAccount returns the provider for one account. An instance that has taken a
// step for it takes none for any other.
func (p *Plugin) ForAccount() Provider { return &forAccount{p} }

// Step takes one step. An instance that has failed is not used again, and the
// next step gets another.
func (p *forAccount) Step(ctx context.Context, call *step.Call) (*step.Reply, error) {
	in, err := json.Marshal(call)
	if err == nil && len(in) > step.MaxCall {
		err = violationf("its state and what came of its last action have %d bytes, there may be %d", len(in), step.MaxCall)
	}
	if err != nil {
		return nil, blame(p.name, "step", err)
	}
	out, err := p.call(ctx, p, step.ExportStep, in)
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
func (p *Plugin) describe(ctx context.Context) error {
	out, err := p.call(ctx, nil, step.ExportDescribe, nil)
	if err == nil {
		err = readManifest(out, &p.manifest)
	}
	if err != nil {
		return blame(p.name, "describe", err)
	}
	return nil
}

// call calls an export in an instance that is at work for nothing else. The owner
// is nil for a call that tells the instance nothing of any account.
func (p *Plugin) call(ctx context.Context, owner *forAccount, export string, in []byte) ([]byte, error) {
	select {
	case p.seats <- struct{}{}:
		defer func() { <-p.seats }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	i, err := p.take(ctx, owner)
	if err != nil {
		return nil, err
	}
	out, err := i.call(ctx, export, in)
	if err != nil {
		i.close()
		return nil, err
	}
	p.give(i)
	return out, nil
}

// take returns an idle instance of that owner, or makes one.
func (p *Plugin) take(ctx context.Context, owner *forAccount) (*instance, error) {
	i, err := p.reuse(owner)
	if err != nil {
		return nil, err
	}
	if i == nil {
		if i, err = p.instance(ctx); err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
	}
	i.owner = owner
	return i, nil
}

// reuse returns the idle instance that the owner has used last, or else one that
// has no owner yet, or nil.
func (p *Plugin) reuse(owner *forAccount) (*instance, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	best := -1
	for n, i := range p.idle {
		if i.owner == owner || i.owner == nil && best < 0 {
			best = n
		}
	}
	if best < 0 {
		return nil, nil
	}
	i := p.idle[best]
	p.idle = slices.Delete(p.idle, best, best+1)
	return i, nil
}

// give keeps an instance for the next step of its owner. Where there are too many,
// the one that has waited longest goes.
func (p *Plugin) give(i *instance) {
	p.mu.Lock()
	spare := i
	if !p.closed && !i.old() {
		p.idle, spare = append(p.idle, i), nil
	}
	if len(p.idle) > maxIdle {
		spare = p.idle[0]
		p.idle = slices.Delete(p.idle, 0, 1)
	}
	p.mu.Unlock()
	if spare != nil {
		spare.close()
	}
}

// close waits until no instance is at work, and gives everything back. Steps that
// come later find that it is closed.
func (p *Plugin) close() error {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for range maxSeats {
		p.seats <- struct{}{}
	}
	for _, i := range idle {
		i.close()
	}
	err := p.compiled.Close(context.Background())
	if p.own {
		err = errors.Join(err, p.runtime.Close())
	}
	for range maxSeats {
		<-p.seats
	}
	return err
}
