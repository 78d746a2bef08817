package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	extism "github.com/extism/go-sdk"

	"github.com/wharf-mcp/wharf/abi/step"
)

// Provider is a provider as flows see it. Both methods are safe for concurrent
// use; the errors of Step are *Error, or wrap the end of ctx.
type Provider interface {
	Manifest() *step.Manifest
	Step(ctx context.Context, call *step.Call) (*step.Reply, error)
}

const (
	maxSeats = 4 // instances of a provider at work at a time
	maxIdle  = 2 // that are kept for the next step
)

// Plugin is a provider in a module. Its instances are all alike, and a step may
// run in any of them.
type Plugin struct {
	name     string
	engine   *Engine
	compiled *extism.CompiledPlugin
	manifest step.Manifest
	seats    chan struct{}

	mu     sync.Mutex
	idle   []*instance
	closed bool
}

func newPlugin(name string, e *Engine, compiled *extism.CompiledPlugin) *Plugin {
	return &Plugin{name: name, engine: e, compiled: compiled, seats: make(chan struct{}, maxSeats)}
}

// Name is the name that the plugin was loaded under.
func (p *Plugin) Name() string { return p.name }

// Manifest is what the provider says of itself, checked. It is not to be changed.
func (p *Plugin) Manifest() *step.Manifest { return &p.manifest }

// Step takes one step. An instance that has failed is not used again, and the
// next step gets another.
func (p *Plugin) Step(ctx context.Context, call *step.Call) (*step.Reply, error) {
	in, err := json.Marshal(call)
	if err == nil && len(in) > step.MaxCall {
		err = breachf("its state and what came of its last action have %d bytes, there may be %d", len(in), step.MaxCall)
	}
	if err != nil {
		return nil, blame(p.name, "step", err)
	}
	out, err := p.call(ctx, step.ExportStep, in)
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
func (p *Plugin) describe() error {
	out, err := p.call(context.Background(), step.ExportDescribe, nil)
	if err == nil {
		err = readManifest(out, &p.manifest)
	}
	if err != nil {
		return blame(p.name, "describe", err)
	}
	return nil
}

// call calls an export in an instance that nobody else has.
func (p *Plugin) call(ctx context.Context, export string, in []byte) ([]byte, error) {
	select {
	case p.seats <- struct{}{}:
		defer func() { <-p.seats }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	i, err := p.take(ctx)
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

// take returns an idle instance, or makes one.
func (p *Plugin) take(ctx context.Context) (*instance, error) {
	if i, err := p.reuse(); i != nil || err != nil {
		return i, err
	}
	i, err := p.instance(ctx)
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	return i, nil
}

func (p *Plugin) reuse() (*instance, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	switch {
	case p.closed:
		return nil, errClosed
	case n == 0:
		return nil, nil
	}
	i := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return i, nil
}

// give keeps an instance for the next step, if it is worth it.
func (p *Plugin) give(i *instance) {
	p.mu.Lock()
	if keep := !p.closed && len(p.idle) < maxIdle && !i.old(); keep {
		p.idle = append(p.idle, i)
		i = nil
	}
	p.mu.Unlock()
	if i != nil {
		i.close()
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
	for range maxSeats {
		<-p.seats
	}
	return err
}
