package plugintest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/abi/verdict"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/internal/worker"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// Options say how to test a plugin. The zero value tests everything that needs no more knowledge
// of the plugin.
type Options struct {
	Name     string            // what errors call the plugin; empty = plugin
	Settings map[string]string // of the server entry, over those of the profile
	Profile  *Profile          // how its wire looks, where the kit cannot find out
	Only     []string          // ids of checks; empty = all

	// Worker is a command that passes its stdin and stdout to host.RunWorker. The kit compiles
	// the module in such processes, which have limits. Without one it compiles the module in
	// this process, within low limits.
	Worker []string

	// CacheDir keeps compiled modules, like the CacheDir of a host; "" keeps none. With a CacheDir,
	// the report does not say how long compiling takes.
	CacheDir string

	// Scenarios are played in addition to the kit's own, to test parts of one protocol.
	Scenarios []*Scenario

	// Recordings hold sign-ins with the auth provider, which the kit runs again.
	Recordings []*Recording

	random   func() io.Reader // of an instance; nil = always the same
	cutEvery int              // bytes from one place where a scenario is cut to the next; 0 = 1
}

// Run tests a module: a transport, an auth provider or a policy. It returns when it has tried everything
// or ctx is done. A module that misbehaves is no error: the report says so. An error is one of
// the kit itself, of ctx, or an [OptionError].
func Run(ctx context.Context, module []byte, o Options) (*Report, error) {
	compiler := &worker.Compiler{Command: o.Worker, Cache: worker.CodeCacheIn(o.CacheDir)}
	defer compiler.Close()
	return run(newChecker(ctx, compiler, module, o))
}

// run is Run with a compiler of the caller's.
func run(c checker) (*Report, error) {
	switch {
	case wasm.HasExport(c.binary, abi.ExportEvent):
	case wasm.HasExport(c.binary, step.ExportStep):
		return runProvider(c)
	case wasm.HasExport(c.binary, verdict.ExportDecide):
		return runPolicy(c)
	}
	return runTransport(c)
}

// runTransport is Run for a transport.
func runTransport(c checker) (*Report, error) {
	if len(c.options.Recordings) > 0 {
		return nil, &OptionError{"the plugin is a transport, whose recordings are run with wharf plugin replay"}
	}
	k := &kit{checker: c}
	defer k.close()
	if k.load() {
		k.detect()
		k.scenarios()
		k.measure()
		k.compare()
	}
	k.report.conclude()
	return k.report, cmp.Or(k.optionErr, k.ctx.Err())
}

// kit is one run of all checks of a transport.
type kit struct {
	checker
	setup     setup
	wires     []wire     // all the variants of the one that it speaks; empty if unknown
	unknown   string     // why the wire is unknown
	violation *violation // what the guest did wrong before there was a scenario
	learned   *learned   // the framing, if it is that
	engines   []*wasm.Engine
}

// load loads the module, and has the guest describe itself.
func (k *kit) load() bool {
	loads := Check{ID: "module", Title: "The module is one that a host loads", Level: Required, Points: []string{"R1"}}
	began := time.Now()
	m, err := k.module(wasm.Config{})
	if k.judge(&loads, err, nil); err != nil {
		k.skip(k.allScenarios(), "the module cannot be loaded")
		return false
	}
	if k.options.CacheDir == "" {
		k.report.figure("compile", "to look at the module and to make native code of it, without a cache", time.Since(began).Microseconds(), "µs")
	}
	k.report.figure("size", "the module", int64(len(k.binary)), "bytes")
	k.setup = setup{module: m, random: k.options.random}

	c := Check{ID: "describe", Title: "The guest starts, and describes itself", Level: Required, Points: []string{"R1"}}
	began = time.Now()
	g, err := newHarness(k.ctx, &k.setup)
	took := time.Since(began)
	defer g.stop()
	if err == nil {
		k.setup.manifest = g.inst.Manifest()
		err = checkManifest(&k.setup.manifest)
		k.report.figure("start", "to make an instance and have it described", took.Microseconds(), "µs")
		k.report.figure("memory", "of an instance that has described itself", g.memory(), "bytes")
	}
	if k.judge(&c, err, g.record); err != nil {
		k.skip(k.allScenarios(), "the guest cannot be started")
		return false
	}
	k.report.Plugin.Name, k.report.Plugin.Version = k.setup.manifest.Name, k.setup.manifest.Version
	k.optionErr = k.settings()
	return k.optionErr == nil
}

// module returns the module, compiled, on an engine like c that ends with the kit.
func (k *kit) module(c wasm.Config) (m *wasm.Module, err error) {
	var e *wasm.Engine
	if c.ABI = guest.ABI(); c.Interpreted {
		if e, err = wasm.NewEngine(k.ctx, c); err == nil {
			m, err = e.Load(k.ctx, k.options.Name, k.binary)
		}
	} else {
		e, m, err = k.compiler.Module(k.ctx, k.options.Name, k.binary, c)
	}
	if e != nil {
		k.engines = append(k.engines, e)
	}
	return m, err
}

const pageSize = 64 << 10

// mainGrant is the only grant that a server entry can give.
const mainGrant = "main"

// pluginName matches a name that a manifest may give to a plugin.
var pluginName = lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,63}$`)

func checkManifest(m *abi.Manifest) error {
	switch {
	case !pluginName.MatchString(m.Name):
		return fmt.Errorf("the manifest's name is %q, expected [a-z0-9][a-z0-9-]* of at most 64 letters", m.Name)
	case len(m.Grants) == 0:
		return errors.New("the manifest names no grants: a transport has to open something")
	}
	for _, g := range m.Grants {
		if classes[g.Kind] == "" || g.Name != mainGrant {
			return fmt.Errorf("the manifest asks for a grant %s %q; what a server entry gives is called %q", g.Kind, g.Name, mainGrant)
		}
	}
	return nil
}

// settings merges the settings of the profile and of the options, and checks them.
func (k *kit) settings() error {
	values := map[string]string{}
	maps.Copy(values, k.options.Profile.Settings)
	maps.Copy(values, k.options.Settings)
	var known []string
	for _, s := range k.setup.manifest.Settings {
		known = append(known, s.Key)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		k.setup.settings = append(k.setup.settings, abi.Pair{Key: key, Value: values[key]})
	}
	return checkSettings(k.setup.manifest.Name, values, known)
}

// basic is the scenario that all others need, so it is tried first. If a guest does something
// wrong while the kit finds out its wire, basic has failed.
const basic = "request"

// allScenarios returns the scenarios of the kit and those of the options.
func (k *kit) allScenarios() []*Scenario {
	all := Scenarios()
	first := slices.IndexFunc(all, func(s *Scenario) bool { return s.ID == basic })
	return slices.Concat(all[first:first+1], all[:first], all[first+1:], k.options.Scenarios)
}

// scenarios plays the scenarios that are for this transport.
func (k *kit) scenarios() {
	for _, s := range k.allScenarios() {
		c, fit, note := s.check(), s, ""
		cannot, notFor := k.cannotPlay(), k.notApplicable(s)
		if cannot == "" {
			fit, note = k.sized(s)
		}
		switch {
		case !k.wanted(s.ID):
		case k.violation != nil && s.ID == basic:
			k.judge(&c, k.violation.err, k.violation.record)
		case notFor != "":
			k.report.add(&c, NotApplicable, notFor)
		case cannot != "":
			k.report.add(&c, Skipped, cannot)
		case fit == nil:
			k.report.add(&c, Skipped, note)
		default:
			record, err := k.play(fit)
			c.Got = note
			k.judge(&c, err, record)
		}
	}
}

// Known reports whether the kit has a check of that id.
func Known(id string) bool {
	checks := append([]Check{{ID: "module"}, {ID: "describe"}, recorded}, providerComparisons...)
	for _, s := range slices.Concat(Scenarios(), ProviderScenarios()) {
		checks = append(checks, s.check())
	}
	for _, c := range policyChecks {
		checks = append(checks, c.check)
	}
	for _, m := range measurements {
		checks = append(checks, m.check)
	}
	for _, c := range comparisons {
		checks = append(checks, c.check)
	}
	return slices.ContainsFunc(checks, func(c Check) bool { return c.ID == id })
}

// notApplicable returns why a scenario says nothing about this transport, or "".
func (k *kit) notApplicable(s *Scenario) string {
	if len(s.For) > 0 && len(k.wires) > 0 && !slices.Contains(s.For, k.wires[0].class) {
		return "it is for transports of the class " + strings.Join(s.For, " or ")
	}
	if slices.Contains(s.Needs, "unsolicited") && !k.setup.manifest.Unsolicited {
		return "the manifest says that no messages come which belong to no exchange"
	}
	if slices.Contains(s.Needs, "frames") && k.learned != nil {
		return "how messages look is learned from the guest, which frames nothing else; say it in a profile (framing: pattern)"
	}
	return ""
}

// maxStops is how often a guest may be stopped for using up its budget. After that the
// remaining scenarios are skipped.
const maxStops = 3

// cannotPlay returns why no scenario can be played, or "".
func (k *kit) cannotPlay() string {
	switch {
	case k.ctx.Err() != nil:
		return "there was no time left"
	case len(k.wires) == 0:
		return k.unknown
	case k.stops >= maxStops:
		return "the guest has used up its budget in several scenarios before"
	}
	return ""
}

// mostCuts is the byte before which play tries single cuts, each in a run of its own.
const mostCuts = 400

// play runs a scenario on each variant of the wire, cut in all ways that it asks
// for, until a run fails.
func (k *kit) play(s *Scenario) (last *recording, err error) {
	for _, w := range k.wires {
		c := k.setup
		c.wire, c.limits.MessageCap = w, s.Cap
		if s.ratio != nil {
			c.limits.HighWater = s.ratio(usualHighWater)
		}
		total, how := 0, ""
		total, last, err = k.once(&c, s, cutter{})
		if err == nil && s.Cuts != "" {
			how = ", cut after every byte"
			_, last, err = k.once(&c, s, cutter{all: true})
			for at := 1; err == nil && at < min(total, mostCuts); at += max(1, k.options.cutEvery) {
				how = fmt.Sprintf(", cut after byte %d", at)
				_, last, err = k.once(&c, s, cutter{at: at})
			}
		}
		if err != nil {
			if len(k.wires) > 1 {
				how = " (" + w.name + ")" + how
			}
			return last, fmt.Errorf("scenario %s%s, %w", s.ID, how, err)
		}
	}
	return last, nil
}

// once runs a scenario once. It returns how many bytes the server said.
func (k *kit) once(c *setup, s *Scenario, cut cutter) (said int, record *recording, err error) {
	g, err := newHarness(k.ctx, c)
	defer g.stop()
	if err == nil {
		g.cut = cut
		err = g.perform(s)
	}
	return g.cut.said, g.record, err
}

// perform goes through the steps of a scenario.
func (g *harness) perform(s *Scenario) error {
	g.expects(s.Steps)
	if err := perform(g, verbs, s.Steps); err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if err := g.finish(); err != nil {
		return fmt.Errorf("at its end: %w", err)
	}
	return nil
}

// close ends the instance that the kit learns from, and the engines.
func (k *kit) close() {
	for _, e := range k.engines {
		_ = e.Close() // nothing runs on it any more
	}
	if k.learned != nil {
		k.learned.harness.stop()
	}
}
