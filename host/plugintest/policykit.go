package plugintest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi/verdict"
	"github.com/wharf-mcp/wharf/host/internal/policyplugin"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/internal/worker"
	"github.com/wharf-mcp/wharf/host/policy"
)

// classPolicy is the class of a policy in a report.
const classPolicy = "policy"

// policyKit is one run of all checks of a policy.
type policyKit struct {
	checker
	engine   *policyplugin.Engine
	halfFuel *policyplugin.Engine // with less fuel
	plugin   *policyplugin.Plugin
	settings json.RawMessage
	asked    uint64
	slow     time.Duration
}

// runPolicy is Run for a policy.
func runPolicy(c checker) (*Report, error) {
	if len(c.options.Scenarios)+len(c.options.Recordings) > 0 {
		return nil, &OptionError{"the plugin is a policy, which has neither scenarios nor recordings; a profile has its cases"}
	}
	engine, err := policyplugin.NewEngine(policyplugin.EngineConfig{})
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	halfFuel, err := policyplugin.NewEngine(policyplugin.EngineConfig{Fuel: policyplugin.Fuel / fuelShare})
	if err != nil {
		return nil, err
	}
	defer halfFuel.Close()
	k := &policyKit{checker: c, engine: engine, halfFuel: halfFuel}
	k.run()
	return k.report, cmp.Or(k.optionErr, k.ctx.Err())
}

// run makes all checks, on engines that may have loaded the module before.
func (k *policyKit) run() {
	if k.report.Plugin.Class = classPolicy; k.load() {
		k.checks()
		k.report.figure("decision", "the slowest", k.slow.Microseconds(), "µs")
	}
	k.report.conclude()
}

// load loads the module, and has the policy describe itself.
func (k *policyKit) load() bool {
	loads := Check{ID: "module", Title: "The module is one that a host loads", Level: Required}
	describe := Check{ID: "describe", Title: "The policy starts, and describes itself", Level: Required}
	began := time.Now()
	p, err := k.compiler.Policy(k.ctx, k.engine, 0, k.options.Name, k.binary)
	took := time.Since(began)
	if errors.As(err, new(*wasm.Refusal)) || errors.As(err, new(*worker.RefusedError)) {
		k.judge(&loads, err, nil)
		k.skipChecks("the module cannot be loaded")
		return false
	}
	k.judge(&loads, nil, nil)
	if k.judge(&describe, err, nil); err != nil {
		k.skipChecks("the policy cannot be started")
		return false
	}
	k.plugin, k.report.Plugin.Name, k.report.Plugin.Version = p, p.Manifest().Name, p.Manifest().Version
	if k.optionErr = k.configure(p.Manifest()); k.optionErr != nil {
		return false
	}
	if k.options.CacheDir == "" {
		k.report.figure("start", "to look at the module, compile it and have it described", took.Microseconds(), "µs")
	}
	k.report.figure("size", "the module", int64(len(k.binary)), "bytes")
	return true
}

// configure puts the settings of the options over those of the profile, or over those that the kit makes up.
func (k *policyKit) configure(m *verdict.Manifest) (err error) {
	if k.settings = inventedSettings(m.Settings); k.options.Profile.Policy != nil && len(k.options.Profile.Policy.Settings) > 0 {
		k.settings = k.options.Profile.Policy.Settings
	}
	values, err := readObject(k.settings)
	if err != nil {
		return err
	}
	for key, value := range k.options.Settings {
		values[key] = value
	}
	if err := policyplugin.CheckSettings(m, values); err != nil {
		return &OptionError{fmt.Sprintf("plugin %s: %v", m.Name, err)}
	}
	k.settings, err = json.Marshal(values)
	return err
}

// policyChecks are the checks of a policy, but for module and describe. try gets a plugin to ask.
var policyChecks = []struct {
	check Check
	try   func(k *policyKit, p *policyplugin.Plugin) error
}{
	{Check{ID: "cases", Level: Required, Title: "It says what its profile expects"}, (*policyKit).cases},
	{Check{ID: "targets", Level: Required, Title: "It decides on tools, prompts, resources and other methods, called and listed"}, decides(calls)},
	{Check{ID: "arguments", Level: Fault, Title: "It decides on arguments of every kind in JSON, and on none"}, decides(argued)},
	{Check{ID: "names", Level: Fault, Title: "It decides on names that are empty, huge or strange"}, decides(named)},
	{Check{ID: "largest", Level: Fault, Title: "It decides on the largest call that there may be"}, (*policyKit).largest},
	{Check{ID: "unknown-members", Level: Fault, Title: "It decides on a call as before if the call has members that it does not know"}, (*policyKit).unknownMembers},
	{Check{ID: "garbage-call", Level: Fault, Title: "It allows nothing if it is given no call"}, (*policyKit).garbage},
	{Check{ID: "same-twice", Level: Fault, Title: "The same call twice gets the same verdict, from another instance too"}, (*policyKit).sameTwice},
	{Check{ID: "fuel", Level: Advice, Title: "No decision takes more than half of its budget"}, (*policyKit).onHalfFuel},
	{Check{ID: "reasons", Level: Advice, Title: "It says why it denies, or why a person is asked"}, (*policyKit).reasons},
}

func (k *policyKit) skipChecks(why string) {
	for _, c := range policyChecks {
		k.report.add(&c.check, Skipped, why)
	}
}

// checks makes the checks of policyChecks.
func (k *policyKit) checks() {
	for _, c := range policyChecks {
		switch {
		case !k.wanted(c.check.ID):
		case c.check.ID == "cases" && (k.options.Profile.Policy == nil || len(k.options.Profile.Policy.Cases) == 0):
			k.report.add(&c.check, NotApplicable, "no profile says what it has to answer (policy.cases)")
		case k.stops >= maxStops:
			k.report.add(&c.check, Skipped, "the policy has used up its budget in several checks before")
		default:
			k.judge(&c.check, c.try(k, k.plugin), nil)
		}
	}
}

// owner is the owner of the instances that the kit asks. Each pointer is another one.
type owner struct{ _ byte }

// ask has a policy decide on a call, which gets the id and the settings of the kit.
func (k *policyKit) ask(p *policyplugin.Plugin, o *owner, c verdict.Call) (policy.Decision, error) {
	k.asked++
	if c.ID = k.asked; len(c.Settings) == 0 {
		c.Settings = k.settings
	}
	text, err := policyplugin.Encode(&c)
	if err != nil {
		return policy.Decision{}, err
	}
	return k.askText(p, o, text)
}

// askText is ask with the JSON of a call.
func (k *policyKit) askText(p *policyplugin.Plugin, o *owner, call []byte) (policy.Decision, error) {
	began := time.Now()
	said, err := policyplugin.Ask(k.ctx, p, o, call, k.asked)
	if k.slow = max(k.slow, time.Since(began)); err != nil {
		err = fmt.Errorf("asked about %s: %w", short(call), err)
	}
	return said, err
}

// wordOf is a decision in the words of the contract.
func wordOf(d policy.Decision) string {
	switch {
	case d.Allow:
		return verdict.Allow
	case d.Ask:
		return verdict.Ask
	}
	return verdict.Deny
}

// decides returns a check that asks about calls, and takes any verdict.
func decides(calls func() []verdict.Call) func(*policyKit, *policyplugin.Plugin) error {
	return func(k *policyKit, p *policyplugin.Plugin) error {
		o := new(owner)
		for _, c := range calls() {
			if _, err := k.ask(p, o, c); err != nil {
				return err
			}
		}
		return nil
	}
}

// cases asks about the cases of the profile, and tells of all that fail.
func (k *policyKit) cases(p *policyplugin.Plugin) error {
	var failed []string
	o := new(owner)
	for i := range k.options.Profile.Policy.Cases {
		c := &k.options.Profile.Policy.Cases[i]
		said, err := k.ask(p, o, c.Call)
		if err == nil {
			err = c.judge(wordOf(said), said.Reason)
		}
		if err != nil {
			failed = append(failed, fmt.Sprintf("policy.cases[%d]: %v", i, err))
		}
	}
	if failed == nil {
		return nil
	}
	return errors.New(strings.Join(failed, "\n"))
}

// largest asks about a call of as many bytes as there may be, nearly all of them in one text.
func (k *policyKit) largest(p *policyplugin.Plugin) error {
	c := calls()[0]
	c.ID, c.Settings, c.Arguments = k.asked+1, k.settings, json.RawMessage(`{"text":""}`)
	empty, err := policyplugin.Encode(&c)
	if err != nil {
		return err
	}
	c.Arguments = slices.Concat([]byte(`{"text":"`), bytes.Repeat([]byte("x"), verdict.MaxCall-len(empty)), []byte(`"}`))
	_, err = k.ask(p, new(owner), c)
	return err
}

// unknownMembers asks about calls that have more than this version of the contract.
func (k *policyKit) unknownMembers(p *policyplugin.Plugin) error {
	o := new(owner)
	for _, c := range calls() {
		before, err := k.ask(p, o, c)
		if err != nil {
			return err
		}
		k.asked++
		c.ID, c.Settings = k.asked, k.settings
		text, err := policyplugin.Encode(&c)
		if err != nil {
			return err
		}
		said, err := k.askText(p, o, slices.Concat([]byte(`{"kit":{"verdict":"allow"},"tide":[1,null],`), text[1:]))
		if err != nil {
			return err
		}
		if said != before {
			return fmt.Errorf("asked about %s: it says %s, and %s without what it does not know", short(text), wordOf(said), wordOf(before))
		}
	}
	return nil
}

// garbage gives what is no call. A policy may fail, and a host denies then.
func (k *policyKit) garbage(p *policyplugin.Plugin) error {
	k.asked++
	c := calls()[0]
	c.ID, c.Settings = k.asked, k.settings
	text, err := policyplugin.Encode(&c)
	if err != nil {
		return err
	}
	for _, in := range [][]byte{{}, []byte("[]"), []byte("allow"), text[:len(text)-1], append(text[:len(text):len(text)], '}'), bytes.Repeat([]byte("["), 10_000)} {
		if said, err := k.askText(p, new(owner), in); err == nil && said.Allow {
			return fmt.Errorf("given %s, which is no call, it says allow", short(in))
		}
	}
	return nil
}

// samples are calls that stand for all: those of the profile, and a part of the kit's.
func (k *policyKit) samples() []verdict.Call {
	all := slices.Concat(calls(), argued())
	if p := k.options.Profile.Policy; p != nil {
		for _, c := range p.Cases {
			all = append(all, c.Call)
		}
	}
	return all
}

// sameTwice asks twice about the same calls, and then another instance.
func (k *policyKit) sameTwice(p *policyplugin.Plugin) error {
	first := new(owner)
	var before []policy.Decision
	for _, o := range []*owner{first, first, new(owner)} {
		for i, c := range k.samples() {
			said, err := k.ask(p, o, c)
			switch {
			case err != nil:
				return err
			case len(before) <= i:
				before = append(before, said)
			case said != before[i]:
				return fmt.Errorf("asked again about the %s %q: it says %s (%q), and said %s (%q) before; a policy must not count on what it keeps in its memory",
					c.Target, c.Name, wordOf(said), said.Reason, wordOf(before[i]), before[i].Reason)
			}
		}
	}
	return nil
}

// onHalfFuel makes the checks that cost most with little fuel.
func (k *policyKit) onHalfFuel(*policyplugin.Plugin) error {
	p, err := k.compiler.Policy(k.ctx, k.halfFuel, policyplugin.Fuel/fuelShare, k.options.Name, k.binary)
	if err != nil {
		return err
	}
	return cmp.Or(decides(k.samples)(k, p), k.largest(p))
}

// reasons looks for a denial without a reason.
func (k *policyKit) reasons(p *policyplugin.Plugin) error {
	o := new(owner)
	for _, c := range k.samples() {
		if said, err := k.ask(p, o, c); err == nil && !said.Allow && said.Reason == "" && !c.Listed {
			return fmt.Errorf("asked about the %s %q, it says %s and not why", c.Target, c.Name, wordOf(said))
		}
	}
	return nil
}
