package plugintest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/policyplugin"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// policyEngines are shared by these tests, as engines are.
var policyEngines = sync.OnceValues(func() (all [2]*policyplugin.Engine, err error) {
	for i, fuel := range []int64{policyplugin.Fuel, policyplugin.Fuel / fuelShare} {
		if all[i], err = policyplugin.NewEngine(policyplugin.EngineConfig{Fuel: fuel, CacheDir: testenv.CodeDir()}); err != nil {
			return all, err
		}
	}
	return all, nil
})

// tryPolicy is Run on the shared engines.
func tryPolicy(t *testing.T, module []byte, o Options) *Report {
	t.Helper()
	pair, err := policyEngines()
	if err != nil {
		t.Fatal(err)
	}
	k := &policyKit{checker: newChecker(t.Context(), &shared, module, o), engine: pair[0], halfFuel: pair[1]}
	k.run()
	if k.optionErr != nil {
		t.Fatal(k.optionErr)
	}
	return k.report
}

// policyFaults are what makes each check of a policy fail, and a part of what it says.
var policyFaults = map[string]struct{ fault, says string }{
	"cases":           {"", "policy.cases[0]: it says deny (\"it is not a tool that only reads\"), expected allow\npolicy.cases[2]: it says deny, and its reason is"},
	"targets":         {"traps", "asked about"},
	"arguments":       {"null", "returned 1, and not 0"},
	"names":           {"nameless", "returned 1, and not 0"},
	"largest":         {"small", "(1048576 bytes): wharf_policy_decide returned 1"},
	"unknown-members": {"taken in", "it says allow, and deny without what it does not know"},
	"garbage-call":    {"", "it says allow"},
	"same-twice":      {"counts", "must not count on what it keeps in its memory"},
	"fuel":            {"greedy", "used up its budget"},
	"reasons":         {"mute", `the tool "kit", it says deny and not why`},
}

// brokenCases are of a profile that the broken policy does not keep.
const brokenCases = `{"policy":{"settings":{"needed":"x"},"cases":[
	{"call":{"target":"tool","name":"x"},"verdict":"allow"},
	{"call":{"target":"tool","name":"x","annotations":{"readOnlyHint":true}},"verdict":"allow"},
	{"call":{"target":"tool","name":"x"},"verdict":"deny","reason":"^no$"}]}}`

func TestEachPolicyCheckFails(t *testing.T) {
	if raceEnabled {
		t.Skip("it is done without the race detector")
	}
	profile, err := parseProfile([]byte(brokenCases))
	if err != nil {
		t.Fatal(err)
	}
	module := testenv.Module(t, "./testdata/brokenpolicy")
	for _, c := range policyChecks {
		f, tried := policyFaults[c.check.ID]
		if !tried {
			t.Errorf("no fault makes %s fail", c.check.ID)
			continue
		}
		r := tryPolicy(t, module, Options{Profile: profile, Only: []string{c.check.ID}, Settings: map[string]string{"fault": f.fault}})
		if got := r.Check(c.check.ID); got.Result != Failed || !strings.Contains(got.Got, f.says) || r.OK != !got.Level.binding() {
			t.Errorf("%s: %+v, want %q", f.fault, got, f.says)
		}
	}
	for fault, says := range map[string]string{"strict": "returned 1", "another": "decided on the call 2, and was asked about 1"} {
		if r := tryPolicy(t, module, Options{Only: []string{"targets", "unknown-members"}, Settings: map[string]string{"fault": fault}}); r.OK || !strings.Contains(r.Text(0), says) {
			t.Errorf("%s: %s", fault, r.Text(0))
		}
	}
	brief, err := policyplugin.NewEngine(policyplugin.EngineConfig{Fuel: 100_000_000, CacheDir: testenv.CodeDir()})
	if err != nil {
		t.Fatal(err)
	}
	k := &policyKit{checker: newChecker(t.Context(), &shared, module, Options{Settings: map[string]string{"fault": "loops"}}), engine: brief, halfFuel: brief}
	k.run()
	r := k.report
	if c := r.Check("fuel"); r.OK || c.Result != Skipped || !strings.Contains(c.Got, "used up its budget") || r.Check("cases").Result != NotApplicable {
		t.Errorf("a policy that loops: %s", r.Text(0))
	}
	noModule := tryPolicy(t, append([]byte{}, module[:len(module)/2]...), Options{})
	if c := noModule.Check("describe"); noModule.OK || c.Result != Failed || noModule.Check("targets").Result != Skipped {
		t.Errorf("half a module: %s", noModule.Text(0))
	}
	withHTTP := strings.ReplaceAll(string(module), "input_length", "http_request")
	wants := tryPolicy(t, []byte(withHTTP), Options{})
	if c := wants.Check("module"); wants.OK || c.Result != Failed || !strings.Contains(c.Got, "http_request") {
		t.Errorf("a policy that wants HTTP: %s", wants.Text(0))
	}
}

// The examples pass, in the sandbox, with the cases beside them.
func TestPolicies(t *testing.T) {
	if raceEnabled {
		t.Skip("it is done without the race detector")
	}
	for name, module := range map[string]func() []byte{
		"readonly": func() []byte { return testenv.Module(t, "../../examples/policy-readonly") },
		"paths-c":  func() []byte { return read(t, "../../examples/policy-paths-c/paths.wasm") },
	} {
		profile, err := ReadProfile("../../examples/policy-" + name + "/cases.json")
		if err != nil {
			t.Fatal(err)
		}
		r := tryPolicy(t, module(), Options{Profile: profile})
		wantOK(t, r)
		if text := r.Text(0); strings.Contains(text, "fail") && !strings.Contains(text, "0 failed") || r.Check("cases").Result != Passed || r.Plugin.Class != "policy" || len(r.Points) != 0 {
			t.Errorf("%s", text)
		}
	}
}

// What is wrong with the profile or the options of a policy is told with its place.
func TestPolicyOptions(t *testing.T) {
	for text, want := range map[string]string{
		`{"policy":{"cases":[{"call":{"target":"tol"},"verdict":"deny"}]}}`:                            `line 1, policy.cases[0].call.target: "tol", expected tool, prompt, resource or other`,
		`{"policy":{"cases":[{"call":{"target":"tool"},"verdict":"no"}]}}`:                             `policy.cases[0].verdict: "no", expected allow, deny or ask`,
		`{"policy":{"cases":[{"call":{"target":"tool"},"verdict":"deny","reason":"("}]}}`:              `policy.cases[0].reason: error parsing regexp`,
		`{"policy":{"cases":[{"call":{"target":"tool","arguments":[1]},"verdict":"deny"}]}}`:           `policy.cases[0].call.arguments: the arguments are no object`,
		`{"policy":{"cases":[{"call":{"target":"tool","arguments":{"a":1,"A":1}},"verdict":"deny"}]}}`: `the name "A" twice`,
		`{"policy":{"cases":[{"call":{"target":"tool","tool":"x"},"verdict":"deny"}]}}`:                `policy.cases[0].call.tool: unknown field`,
		`{"policy":{"settings":[]}}`: `policy.settings: expected an object`,
		`{"policy":{"cases":[{"call":{"target":"tool","settings":null},"verdict":"deny"}]}}`: `policy.cases[0].call.settings: expected an object`,
	} {
		if _, err := parseProfile([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	paths := read(t, "../../examples/policy-paths-c/paths.wasm")
	for want, o := range map[string]Options{
		`plugin paths: settings.floder: there is no such key; there are folder, names`: {Settings: map[string]string{"floder": "/"}},
		"which has neither scenarios nor recordings":                                   {Scenarios: []*Scenario{{ID: "x"}}},
		"plugin paths: settings.names: expected a list":                                {Settings: map[string]string{"names": "x"}},
	} {
		_, err := run(newChecker(t.Context(), &shared, paths, o))
		if !errors.As(err, new(*OptionError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if largest := fmt.Sprint(len(calls()), len(argued()), len(named())); largest != "11 10 74" {
		t.Errorf("the kit asks about %s calls", largest)
	}
}
