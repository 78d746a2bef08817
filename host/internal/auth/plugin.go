package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/extism"
)

// Bounds of one call of a provider. A provider in Go processes the largest state within a second.
// One that only loops is stopped after about five seconds.
const (
	Fuel     = 4_000_000_000 // what it may compute, in units of about a nanosecond
	callTime = 10 * time.Second
)

// EngineConfig configures an Engine.
type EngineConfig struct {
	CacheDir string      // of metered modules and native code; "" keeps nothing
	Unkept   func(error) // gets, once, the reason why nothing is kept there; may be nil

	// Fuel is what a provider may use in one call; 0 means the constant Fuel.
	Fuel int64

	// Compiled, if not nil, is called each time after a provider is compiled and before it first
	// runs. Its error is that of the load.
	Compiled func() error
}

// Engine loads providers. It is safe for concurrent use.
type Engine = extism.Engine[step.Manifest]

// Plugin is a provider in a module. It takes no steps by itself: each account gets
// a Provider of its own from [ForAccount], with instances of its own. When
// nothing refers to the Plugin and its Providers any more, the module is closed.
type Plugin = extism.Plugin[step.Manifest]

// NewEngine checks the cache directory. It compiles nothing.
func NewEngine(c EngineConfig) (*Engine, error) {
	return extism.NewEngine(extism.Config[step.Manifest]{
		CacheDir: c.CacheDir, Unkept: c.Unkept, Compiled: c.Compiled,
		Kind: "auth provider", Describe: step.ExportDescribe, Call: step.ExportStep,
		Fuel: cmp.Or(c.Fuel, Fuel), Time: callTime, MaxReply: step.MaxReply,
		Manifest: ReadManifest, Blame: blame,
	})
}

// forAccount is a Plugin as the Provider of one account. Only steps of the same forAccount run in
// an instance that holds data of an earlier step.
type forAccount struct {
	*Plugin
	owner *owner
}

// owner distinguishes the instances of one account from all others.
type owner struct{ _ byte }

// ForAccount returns the provider for one account. An instance that has taken a
// step for it takes none for any other.
func ForAccount(p *Plugin) Provider { return &forAccount{p, new(owner)} }

// Step takes one step. An instance that has failed is not used again; the next step gets another.
func (p *forAccount) Step(ctx context.Context, call *step.Call) (*step.Reply, error) {
	in, err := json.Marshal(call)
	if err == nil && len(in) > step.MaxCall {
		err = violationf("its state and the result of its last action have %d bytes, there may be %d", len(in), step.MaxCall)
	}
	if err != nil {
		return nil, blame(p.Name(), "step", err)
	}
	var reply *step.Reply
	out, err := p.Call(ctx, p.owner, in)
	if err == nil {
		reply, err = readReply(out)
	}
	if err != nil {
		return nil, blame(p.Name(), "step", err)
	}
	return reply, nil
}
