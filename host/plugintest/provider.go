package plugintest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/internal/worker"
)

// classAuth is what a report calls an auth provider.
const classAuth = "auth"

// fuelShare is the part of a provider's budget, one in so many, that should be enough for a
// step, so that there is room for a longer answer.
const fuelShare = 2

// providerKit is one run of all checks of an auth provider.
type providerKit struct {
	ctx       context.Context
	options   Options
	binary    []byte
	report    *Report
	compiler  *worker.Compiler
	engine    *auth.Engine
	halfFuel  *auth.Engine  // with less fuel
	plugin    auth.Provider // for one account, in all scenarios
	profile   *SignIn
	slow      time.Duration
	state     int
	steps     int
	optionErr error // of who asked
}

// runProvider is Run for an auth provider.
func runProvider(ctx context.Context, module []byte, o Options) (*Report, error) {
	if len(o.Scenarios) > 0 {
		return nil, &OptionError{"the plugin is an auth provider, and scenarios of one's own are for transports"}
	}
	engine, err := auth.NewEngine(auth.EngineConfig{})
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	thrifty, err := auth.NewEngine(auth.EngineConfig{Fuel: auth.Fuel / fuelShare})
	if err != nil {
		return nil, err
	}
	defer thrifty.Close()
	compiler := &worker.Compiler{Command: o.Worker}
	defer compiler.Close()
	k := &providerKit{ctx: ctx, options: o, binary: module, compiler: compiler, engine: engine, halfFuel: thrifty}
	report := k.run()
	return report, cmp.Or(k.optionErr, ctx.Err())
}

// run makes all checks, on engines that may have loaded the module before.
func (k *providerKit) run() *Report {
	k.report = newReport(k.binary)
	if k.report.Plugin.Class = classAuth; k.load() {
		k.scenarios()
		k.compare()
		k.report.figure("steps", "of the longest scenario", int64(k.steps), "steps")
		k.report.figure("state", "the largest that it kept between two steps", int64(k.state), "bytes")
		k.report.figure("step", "the slowest", k.slow.Microseconds(), "µs")
	}
	k.report.conclude()
	return k.report
}

// load is the door, and has the provider describe itself.
func (k *providerKit) load() bool {
	door := Check{ID: "module", Title: "The module is one that a host loads", Level: Required}
	describe := Check{ID: "describe", Title: "The provider starts, and describes itself", Level: Required}
	began := time.Now()
	p, err := k.compiler.Provider(k.ctx, k.engine, 0, k.name(), k.binary)
	took := time.Since(began)
	if errors.As(err, new(*wasm.Refusal)) || errors.As(err, new(*worker.Refusal)) {
		k.judge(&door, err, nil)
		k.skipAll("the module cannot be loaded")
		return false
	}
	k.judge(&door, nil, nil)
	if k.judge(&describe, err, nil); err != nil {
		k.skipAll("the provider cannot be started")
		return false
	}
	m := p.Manifest()
	k.plugin, k.report.Plugin.Name, k.report.Plugin.Version = p.ForAccount(), m.Name, m.Version
	var given *SignIn
	if k.options.Profile != nil {
		given = k.options.Profile.SignIn
	}
	k.profile = given.withDefaults(m.Settings)
	if k.optionErr = k.overlay(m); k.optionErr != nil {
		return false
	}
	k.report.figure("start", "to look at the module, compile it and have it described", took.Microseconds(), "µs")
	k.report.figure("size", "the module", int64(len(k.binary)), "bytes")
	return true
}

func (k *providerKit) name() string {
	if k.options.Name == "" {
		return "plugin"
	}
	return k.options.Name
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

// open is a run with nothing saved.
func (k *providerKit) open(windows ...auth.Provider) *authHost {
	profile, m := *k.profile, k.plugin.Manifest()
	return &authHost{
		ctx: k.ctx, profile: &profile, instances: windows, manifest: m, secrets: profile.secrets(m.Settings),
		now: firstMoment, records: map[step.RecordKey]json.RawMessage{}, counts: map[*Answer]int{}, flow: result{kinds: map[string]int{}},
	}
}

// play goes through a scenario.
func (k *providerKit) play(s *Scenario, windows ...auth.Provider) (*authHost, error) {
	o := k.open(windows...)
	defer func() { k.slow, k.state, k.steps = max(k.slow, o.slow), max(k.state, o.state), max(k.steps, o.steps) }()
	for _, p := range s.Steps {
		if err := authVerbs[p.Verb](o, p.Text); err != nil {
			return o, fmt.Errorf("scenario %s, line %d, %s: %w", s.ID, p.Line, beginning(p), err)
		}
	}
	return o, nil
}

func (k *providerKit) scenarios() {
	for _, s := range ProviderScenarios() {
		c := s.check()
		if why := k.notApplicable(s); why != "" && k.wanted(s.ID) {
			k.report.add(&c, NotApplicable, why)
			continue
		}
		if k.wanted(s.ID) {
			o, err := k.play(s, k.plugin)
			k.judge(&c, err, o)
		}
	}
}

func (s *Scenario) check() Check {
	return Check{ID: s.ID, Title: s.Title, Level: s.Level, Points: s.Points}
}

// notApplicable returns why a scenario says nothing about this provider, or "".
func (k *providerKit) notApplicable(s *Scenario) string {
	m := k.plugin.Manifest()
	required := slices.ContainsFunc(m.Settings, func(s step.Setting) bool { return s.Required })
	switch {
	case slices.Contains(s.Needs, "requests") && !m.Wants.Requests:
		return "it signs no requests"
	case slices.Contains(s.Needs, "settings") && !required:
		return "it has no settings that there must be"
	}
	return ""
}

func (k *providerKit) wanted(id string) bool {
	return len(k.options.Only) == 0 || slices.Contains(k.options.Only, id)
}

// judge adds a check to the report. Where the profile of the author is missing, a failed
// check is skipped.
func (k *providerKit) judge(c *Check, err error, o *authHost) {
	if !k.wanted(c.ID) && err == nil {
		return
	}
	result, got := Passed, ""
	if err != nil {
		result, got = Failed, err.Error()
		if o != nil {
			c.Trace = strings.Join(o.trace, "\n")
		}
	}
	if errors.Is(err, errNoSignIn) && k.options.noSignIn() || k.ctx.Err() != nil {
		result = Skipped
	}
	k.report.add(c, result, got)
}

// noSignIn reports whether the profile does not describe a sign-in.
func (o *Options) noSignIn() bool { return o.Profile == nil || o.Profile.SignIn == nil }

func (k *providerKit) skipAll(why string) {
	for _, s := range ProviderScenarios() {
		c := s.check()
		k.report.add(&c, Skipped, why)
	}
}

// routine are the checks of a provider that are made by going through a scenario in
// more than one way.
var providerComparisons = []Check{
	{ID: "same-twice", Level: Fault, Title: "The same events twice give the same replies"},
	{ID: "handover", Level: Fault, Title: "A flow goes on in another instance: what it knows is in its state"},
	{ID: "fuel", Level: Advice, Title: "No step of a sign-in takes more than half of its budget"},
}

// compare makes them.
func (k *providerKit) compare() {
	s := providerScenario("sign-in")
	first, broken := k.play(s, k.plugin)
	ways := map[string]func() (*authHost, error){
		"same-twice": func() (*authHost, error) { return k.differs(first, s, k.plugin) },
		"handover":   func() (*authHost, error) { return k.handover(first, s) },
		"fuel":       k.playOnHalfFuel,
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

// differs plays a scenario again and compares what was replied.
func (k *providerKit) differs(first *authHost, s *Scenario, windows ...auth.Provider) (*authHost, error) {
	o, err := k.play(s, windows...)
	if err != nil && !errors.Is(err, errNoSignIn) {
		return o, err
	}
	if i := firstDifference(first.replies, o.replies); i >= 0 {
		return o, fmt.Errorf("the replies to step %d differ: a provider has neither clock nor randomness of its own, and keeps what it knows in its state", i+1)
	}
	return o, nil
}

// firstDifference is where two lists differ, or -1.
func firstDifference(a, b []string) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

// handover lets two modules take turns, neither of which has seen all.
func (k *providerKit) handover(first *authHost, s *Scenario) (*authHost, error) {
	other, err := k.compiler.Provider(k.ctx, k.engine, 0, k.name()+"-2", k.binary)
	if err != nil {
		return nil, err
	}
	return k.differs(first, s, k.plugin, other.ForAccount())
}

// playOnHalfFuel signs in with little fuel.
func (k *providerKit) playOnHalfFuel() (*authHost, error) {
	p, err := k.compiler.Provider(k.ctx, k.halfFuel, auth.Fuel/fuelShare, k.name(), k.binary)
	if err != nil {
		return nil, err
	}
	for _, id := range []string{"sign-in", "expired"} {
		if o, err := k.play(providerScenario(id), p.ForAccount()); err != nil && !errors.Is(err, errNoSignIn) {
			return o, err
		}
	}
	return nil, nil
}
