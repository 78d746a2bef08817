// Package policyplugin decides on calls by plugins, which are untrusted modules: see package verdict for the
// contract.
//
//	Engine ── Load ──► Plugin     a policy: metered, compiled once, a few instances
//	                     ▲
//	Decider ── Decide ───┘        a policy for a table of the configuration
//
// A policy computes, and does nothing else: it has no action that it could ask for. It sees the arguments of
// calls only where its table grants them, its instances decide for one caller each, and whatever goes wrong
// with it denies the call.
package policyplugin

import (
	"cmp"
	"time"

	"github.com/wharf-mcp/wharf/abi/verdict"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/extism"
)

// Bounds of a decision. A policy in Go decides on the largest call, if that is one long text, with half of the
// fuel. A call of as many bytes in 300,000 small values takes twice of it, and is denied.
const (
	Fuel     = 4_000_000_000 // what a decision may compute, in units of about a nanosecond
	callTime = 5 * time.Second

	// DecideTime bounds a decision with the wait for an instance.
	DecideTime = 20 * time.Second
)

// Engine loads policies. It is safe for concurrent use.
type Engine = extism.Engine[verdict.Manifest]

// Plugin is a policy in a module. When nothing refers to it any more, the module is closed.
type Plugin = extism.Plugin[verdict.Manifest]

// EngineConfig configures an Engine.
type EngineConfig struct {
	CacheDir string       // of metered modules and native code; "" keeps nothing
	Unkept   func(error)  // gets, once, the reason why nothing is kept there; may be nil
	Fuel     int64        // of one decision; 0 is the usual
	Compiled func() error // as in [extism.Config]
}

// NewEngine checks the cache directory. It compiles nothing.
func NewEngine(c EngineConfig) (*Engine, error) {
	return extism.NewEngine(extism.Config[verdict.Manifest]{
		CacheDir: c.CacheDir, Unkept: c.Unkept, Compiled: c.Compiled,
		Kind: "policy plugin", Describe: verdict.ExportDescribe, Call: verdict.ExportDecide,
		Fuel: cmp.Or(c.Fuel, Fuel), Time: callTime, MaxReply: verdict.MaxReply,
		Manifest: ReadManifest,
	})
}

// ReadManifest reads and checks the manifest of a policy.
func ReadManifest(b []byte) (*verdict.Manifest, error) {
	m := new(verdict.Manifest)
	if err := extism.DecodeManifest(b, m); err != nil {
		return nil, err
	}
	if err := extism.CheckManifest(verdict.Version, m.ABI, m.Name, m.Version, m.Settings); err != nil {
		return nil, err
	}
	m.About = cleantext.Line(m.About, 200)
	return m, nil
}

// CheckSettings compares the settings of a table with those of a manifest.
func CheckSettings(m *verdict.Manifest, values map[string]any) error {
	return extism.CheckValues("settings", m.Settings, values)
}
