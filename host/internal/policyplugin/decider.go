package policyplugin

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/abi/verdict"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/extism"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/policy"
)

// Config is a table [policy.NAME] of the user's configuration.
type Config struct {
	Name      string         // of the table
	Place     string         // where it is written: "wharf.toml:12"; "" is not known
	Plugin    string         // the name of the plugin
	Servers   []string       // patterns of the servers that it decides on; nil is all
	Arguments bool           // it is shown the arguments of calls
	Settings  map[string]any // of the plugin

	// Load returns the plugin. It is called for each decision.
	Load func(context.Context) (*Plugin, error)

	// Warn gets a text for people. It may be nil.
	Warn func(text string)
}

// Decider is a policy for one table. It is a [policy.Decider].
type Decider struct {
	config   Config
	settings json.RawMessage
	last     atomic.Uint64 // the id of the newest call
	listed   verdicts
	warned   atomic.Pointer[string] // the newest warning
}

// New returns the decider of a table.
func New(c Config) (*Decider, error) {
	d := &Decider{config: c, settings: json.RawMessage("{}")}
	if c.Settings == nil {
		return d, nil
	}
	var err error
	if d.settings, err = json.Marshal(c.Settings); err == nil {
		d.config.Settings = nil
		err = json.Unmarshal(d.settings, &d.config.Settings) // the types of JSON, as a manifest counts them
	}
	return d, err
}

// Scope returns [policy.Some] for the servers of the table.
func (d *Decider) Scope(_ *policy.Caller, server string) policy.Scope {
	if d.config.Servers == nil || slices.ContainsFunc(d.config.Servers, func(p string) bool { return policy.Fits(p, server) }) {
		return policy.Some
	}
	return policy.Everything
}

// Decide asks the plugin. Whatever goes wrong with it denies the call.
func (d *Decider) Decide(ctx context.Context, c *policy.Call) policy.Decision {
	if d.Scope(c.Caller, c.Server) == policy.Everything {
		return policy.Decision{Allow: true, Rule: d.String()}
	}
	said, err := d.ask(ctx, c)
	if err != nil {
		return d.broken(ctx, c, err)
	}
	said.Rule = d.String()
	said.Hint = cmp.Or(said.Hint, fmt.Sprintf("the settings of [policy.%s] in your configuration say what it allows", d.config.Name))
	return said
}

// ByArguments reports whether the plugin decides on a call by its arguments, so that it cannot be asked without
// them. One that is not asked about that server does not, nor does one that cannot be used: it denies.
func (d *Decider) ByArguments(ctx context.Context, c *policy.Call) bool {
	if !d.config.Arguments || d.Scope(c.Caller, c.Server) == policy.Everything {
		return false
	}
	p, err := d.config.Load(ctx)
	return err == nil && d.fits(p.Manifest()) == nil
}

// broken returns the decision on a call about which the plugin has said nothing. A list would show nothing
// without a reason, so there is a warning of it, once for each error.
func (d *Decider) broken(ctx context.Context, c *policy.Call, err error) policy.Decision {
	out := policy.Decision{
		Rule: d.String(), Reason: fmt.Sprintf("the policy plugin %s gave no verdict: %v", d.config.Plugin, err),
		Hint: cmp.Or(hosterr.Hint(err), fmt.Sprintf("use another version of the plugin %s, or take [policy.%s] out of your configuration", d.config.Plugin, d.config.Name)),
	}
	var wrong *TableError
	if errors.As(err, &wrong) {
		out.Reason, out.Hint = wrong.Error(), fmt.Sprintf("correct [policy.%s] in your configuration", d.config.Name)
	}
	if text := out.Rule + ": " + out.Reason; c.Listed && ctx.Err() == nil && d.config.Warn != nil {
		if before := d.warned.Swap(&text); before == nil || *before != text {
			d.config.Warn(text + "; so what it gives no verdict on is not listed")
		}
	}
	return out
}

// TableError says that a table does not fit its plugin, or names none.
type TableError struct{ Err error }

func (e *TableError) Error() string { return e.Err.Error() }

// String names the table, as decisions do.
func (d *Decider) String() string {
	if d.config.Place == "" {
		return "policy." + d.config.Name
	}
	return "policy." + d.config.Name + " (" + d.config.Place + ")"
}

// ask returns what the plugin says, or has said of the same thing in a list.
func (d *Decider) ask(ctx context.Context, c *policy.Call) (policy.Decision, error) {
	p, err := d.config.Load(ctx)
	if err != nil {
		return policy.Decision{}, err
	}
	if err := d.fits(p.Manifest()); err != nil {
		return policy.Decision{}, err
	}
	call, unknown, err := d.show(ctx, c)
	if err != nil {
		return policy.Decision{}, err
	}
	var key verdictKey
	if c.Listed {
		shown, err := json.Marshal(call)
		if err != nil {
			return policy.Decision{}, err
		}
		key = verdictKey{p, sha256.Sum256(shown)}
		if said, found := d.listed.get(key); found {
			return said, nil
		}
	}
	said, err := d.decide(ctx, p, c, call)
	if unknown != nil && err == nil && !said.Allow {
		said.Reason = fmt.Sprintf("%s (its annotations are not known: %v)", said.Reason, unknown)
	}
	if c.Listed && err == nil {
		d.listed.put(key, said)
	}
	return said, err
}

// fits compares the table with the manifest of the plugin.
func (d *Decider) fits(m *verdict.Manifest) error {
	if m.Arguments && !d.config.Arguments {
		return &TableError{fmt.Errorf("the plugin %s decides by the arguments of calls, and arguments = true is missing", d.config.Plugin)}
	}
	if err := CheckSettings(m, d.config.Settings); err != nil {
		return &TableError{err}
	}
	return nil
}

// decide calls the plugin.
func (d *Decider) decide(ctx context.Context, p *Plugin, c *policy.Call, call *verdict.Call) (policy.Decision, error) {
	call.ID = d.last.Add(1)
	in, err := Encode(call)
	if err != nil {
		return policy.Decision{}, err
	}
	return Ask(ctx, p, instanceOwner{d, *c.Caller}, in, call.ID)
}

// Encode returns the JSON of a call. Unlike [json.Marshal] it escapes no character of the arguments.
func Encode(call *verdict.Call) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(call)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// Ask has a plugin decide on a call of an id, in an instance of that owner. An error is that there is no verdict.
func Ask(ctx context.Context, p *Plugin, owner extism.Owner, call []byte, id uint64) (policy.Decision, error) {
	if len(call) > verdict.MaxCall {
		return policy.Decision{}, fmt.Errorf("the call has %d bytes, a policy is shown %d at most", len(call), verdict.MaxCall)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, DecideTime, fmt.Errorf("it took longer than %v", DecideTime))
	defer cancel()
	out, err := p.Call(ctx, owner, call)
	if err != nil {
		return policy.Decision{}, err
	}
	return readVerdict(out, id)
}

// instanceOwner is the owner of instances: what a plugin keeps in its memory reaches no other caller, and no
// other table.
type instanceOwner struct {
	decider *Decider
	caller  policy.Caller
}

// readVerdict reads the verdict on the call of an id.
func readVerdict(b []byte, id uint64) (d policy.Decision, err error) {
	var v verdict.Verdict
	if err := extism.Decode(b, &v); err != nil {
		return d, extism.Violationf("its verdict is not of the contract: %v", err)
	}
	d.Reason = cleantext.Line(v.Reason, verdict.MaxReason)
	switch {
	case v.ID != id:
		return policy.Decision{}, extism.Violationf("it decided on the call %d, and was asked about %d", v.ID, id)
	case v.Verdict == verdict.Allow:
		d.Allow = true
	case v.Verdict == verdict.Ask:
		d.Ask = true
	case v.Verdict != verdict.Deny:
		return policy.Decision{}, extism.Violationf("it said %q, which is no verdict", cleantext.Line(v.Verdict, 64))
	}
	return d, nil
}

// maxVerdicts and verdictAge bound what is remembered of lists. A policy may go by the time of day, so a
// verdict is not for ever.
const (
	maxVerdicts = 8192
	verdictAge  = time.Minute
)

type verdictKey struct {
	plugin *Plugin
	call   [sha256.Size]byte
}

// verdicts remembers what a plugin has said of things in lists.
type verdicts struct {
	mu    sync.Mutex
	since time.Time // of the oldest
	said  map[verdictKey]policy.Decision
}

func (v *verdicts) get(key verdictKey) (d policy.Decision, found bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if time.Since(v.since) > verdictAge {
		return d, false
	}
	d, found = v.said[key]
	return d, found
}

// put remembers whether something is allowed or asked about. Nothing else of the decision is used in a list.
func (v *verdicts) put(key verdictKey, d policy.Decision) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.said) >= maxVerdicts || time.Since(v.since) > verdictAge {
		v.since, v.said = time.Now(), make(map[verdictKey]policy.Decision)
	}
	v.said[key] = policy.Decision{Allow: d.Allow, Ask: d.Ask}
}
