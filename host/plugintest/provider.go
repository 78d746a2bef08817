package plugintest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/internal/worker"
)

// classAuth is the class of an auth provider in a report.
const classAuth = "auth"

// fuelShare divides the budget of a step: one share should be enough for the provider. The rest is
// for longer answers than those of the kit.
const fuelShare = 2

// providerKit is one run of all checks of an auth provider.
type providerKit struct {
	checker
	engine   *auth.Engine
	halfFuel *auth.Engine  // with less fuel
	plugin   auth.Provider // for one account, in all scenarios
	profile  *SignIn
	slow     time.Duration
	state    int
	steps    int
}

// runProvider is Run for an auth provider.
func runProvider(c checker) (*Report, error) {
	if len(c.options.Scenarios) > 0 {
		return nil, &OptionError{"the plugin is an auth provider, and scenarios of one's own are for transports"}
	}
	engine, err := auth.NewEngine(auth.EngineConfig{})
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	halfFuel, err := auth.NewEngine(auth.EngineConfig{Fuel: auth.Fuel / fuelShare})
	if err != nil {
		return nil, err
	}
	defer halfFuel.Close()
	k := &providerKit{checker: c, engine: engine, halfFuel: halfFuel}
	k.run()
	return k.report, cmp.Or(k.optionErr, k.ctx.Err())
}

// run makes all checks, on engines that may have loaded the module before.
func (k *providerKit) run() {
	if k.report.Plugin.Class = classAuth; k.load() {
		k.scenarios()
		k.compare()
		k.replay()
		k.report.figure("steps", "of the longest scenario", int64(k.steps), "steps")
		k.report.figure("state", "the largest that it kept between two steps", int64(k.state), "bytes")
		k.report.figure("step", "the slowest", k.slow.Microseconds(), "µs")
	}
	k.report.conclude()
}

// load loads the module, and has the provider describe itself.
func (k *providerKit) load() bool {
	loads := Check{ID: "module", Title: "The module is one that a host loads", Level: Required}
	describe := Check{ID: "describe", Title: "The provider starts, and describes itself", Level: Required}
	began := time.Now()
	p, err := k.compiler.Provider(k.ctx, k.engine, 0, k.options.Name, k.binary)
	took := time.Since(began)
	if errors.As(err, new(*wasm.Refusal)) || errors.As(err, new(*worker.RefusedError)) {
		k.judge(&loads, err, nil)
		k.skip(ProviderScenarios(), "the module cannot be loaded")
		return false
	}
	k.judge(&loads, nil, nil)
	if k.judge(&describe, err, nil); err != nil {
		k.skip(ProviderScenarios(), "the provider cannot be started")
		return false
	}
	m := p.Manifest()
	k.plugin, k.report.Plugin.Name, k.report.Plugin.Version = auth.ForAccount(p), m.Name, m.Version
	k.profile = k.options.Profile.SignIn.withDefaults(m.Settings)
	if k.optionErr = k.overlay(m); k.optionErr != nil {
		return false
	}
	if k.options.CacheDir == "" {
		k.report.figure("start", "to look at the module, compile it and have it described", took.Microseconds(), "µs")
	}
	k.report.figure("size", "the module", int64(len(k.binary)), "bytes")
	return true
}

// overlay puts the settings of the options over those of the profile.
func (k *providerKit) overlay(m *step.Manifest) error {
	if len(k.options.Settings) == 0 {
		return nil
	}
	var known []string
	for _, s := range m.Settings {
		known = append(known, s.Key)
	}
	if err := checkSettings(m.Name, k.options.Settings, known); err != nil {
		return err
	}
	values := map[string]any{}
	if err := json.Unmarshal(k.profile.Settings, &values); err != nil {
		return err
	}
	for key, value := range k.options.Settings {
		values[key] = value
	}
	text, err := json.Marshal(values)
	k.profile.Settings = text
	return err
}

// play goes through a scenario that begins with an empty vault. The instances take the steps in turn.
func (k *providerKit) play(s *Scenario, instances ...auth.Provider) (*authHost, error) {
	profile, m := *k.profile, k.plugin.Manifest()
	o := &authHost{
		ctx: k.ctx, profile: &profile, instances: instances, manifest: m, secrets: profile.secrets(m.Settings),
		now: firstMoment, records: map[step.RecordKey]json.RawMessage{}, counts: map[*Answer]int{}, flow: result{kinds: map[string]int{}},
	}
	defer func() { k.slow, k.state, k.steps = max(k.slow, o.slow), max(k.state, o.state), max(k.steps, o.steps) }()
	if err := perform(o, authVerbs, s.Steps); err != nil {
		return o, fmt.Errorf("scenario %s, %w", s.ID, err)
	}
	return o, nil
}

func (k *providerKit) scenarios() {
	m := k.plugin.Manifest()
	required := slices.ContainsFunc(m.Settings, func(s step.Setting) bool { return s.Required })
	for _, s := range ProviderScenarios() {
		c := s.check()
		switch {
		case !k.wanted(s.ID):
		case slices.Contains(s.Needs, "requests") && !m.Wants.Requests:
			k.report.add(&c, NotApplicable, "it signs no requests")
		case slices.Contains(s.Needs, "settings") && !required:
			k.report.add(&c, NotApplicable, "it has no settings that there must be")
		default:
			o, err := k.play(s, k.plugin)
			k.judge(&c, err, o)
		}
	}
}

// providerComparisons are the checks of a provider that are made by going through a
// scenario in more than one way.
var providerComparisons = []Check{
	{ID: "same-twice", Level: Fault, Title: "The same events twice give the same replies"},
	{ID: "handover", Level: Fault, Title: "A flow goes on in another instance: what it knows is in its state"},
	{ID: "fuel", Level: Advice, Title: "No step of a sign-in takes more than half of its budget"},
}

// compare makes the checks of providerComparisons.
func (k *providerKit) compare() {
	s := providerScenario("sign-in")
	first, broken := k.play(s, k.plugin)
	ways := map[string]func() (*authHost, error){
		"same-twice": func() (*authHost, error) { return k.differs(first, s, k.plugin) },
		"handover": func() (*authHost, error) {
			other, err := k.compiler.Provider(k.ctx, k.engine, 0, k.options.Name+"-2", k.binary)
			if err != nil {
				return nil, err
			}
			return k.differs(first, s, k.plugin, auth.ForAccount(other))
		},
		"fuel": k.playOnHalfFuel,
	}
	for _, c := range providerComparisons {
		switch {
		case !k.wanted(c.ID):
		case broken != nil && !errors.Is(broken, errNoSignIn):
			k.report.add(&c, Skipped, "the sign-in fails")
		default:
			o, err := ways[c.ID]()
			k.judge(&c, err, o)
		}
	}
}

// differs plays a scenario again and compares the replies with those of first.
func (k *providerKit) differs(first *authHost, s *Scenario, instances ...auth.Provider) (*authHost, error) {
	o, err := k.play(s, instances...)
	if err != nil && !errors.Is(err, errNoSignIn) {
		return o, err
	}
	a, b := first.replies, o.replies
	if slices.Equal(a, b) {
		return o, nil
	}
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return o, fmt.Errorf("the replies to step %d differ: a provider has neither clock nor randomness of its own, and keeps what it knows in its state", n+1)
}

// playOnHalfFuel signs in with little fuel.
func (k *providerKit) playOnHalfFuel() (*authHost, error) {
	p, err := k.compiler.Provider(k.ctx, k.halfFuel, auth.Fuel/fuelShare, k.options.Name, k.binary)
	if err != nil {
		return nil, err
	}
	for _, id := range []string{"sign-in", "expired"} {
		if o, err := k.play(providerScenario(id), auth.ForAccount(p)); err != nil && !errors.Is(err, errNoSignIn) {
			return o, err
		}
	}
	return nil, nil
}
