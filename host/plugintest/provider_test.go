package plugintest

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// engines are shared by these tests, as to compile a provider costs more than a test.
var engines = sync.OnceValues(func() (all [2]*auth.Engine, err error) {
	for i, fuel := range []int64{auth.Fuel, auth.Fuel / fuelShare} {
		if all[i], err = auth.NewEngine(auth.EngineConfig{Fuel: fuel}); err != nil {
			return all, err
		}
	}
	return all, nil
})

// tryProvider is Run on the shared engines.
func tryProvider(t *testing.T, module []byte, o Options) *Report {
	t.Helper()
	pair, err := engines()
	if err != nil {
		t.Fatal(err)
	}
	k := &providerKit{checker: newChecker(t.Context(), &shared, module, o), engine: pair[0], halfFuel: pair[1]}
	k.run()
	return k.report
}

// wantProviderFailure wants a check to have failed for a reason.
func wantProviderFailure(t *testing.T, r *Report, id, says string) {
	t.Helper()
	if c := r.Check(id); r.OK && c.Level.binding() || c.Result != Failed || !strings.Contains(c.Got, says) {
		t.Errorf("%+v, want %q", c, says)
	}
}

// tryBroken tests the broken provider with a fault.
func tryBroken(t *testing.T, fault string, only ...string) *Report {
	t.Helper()
	profile, err := ReadProfile("testdata/brokenauth.json")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Profile: profile, Only: only}
	if fault != "" {
		o.Settings = map[string]string{"fault": fault}
	}
	return tryProvider(t, testenv.Module(t, "./testdata/brokenauth"), o)
}

func TestTheProviderWithoutAFaultPasses(t *testing.T) {
	if raceEnabled {
		t.Skip("it is done without the race detector")
	}
	wantOK(t, tryBroken(t, ""))
}

// providerFaults are what makes each check of a provider fail, and a part of what it says.
// Those of a module that has no such mistakes are below.
var providerFaults = map[string]struct{ fault, says string }{
	"sign-in":        {"elsewhere", "https://elsewhere.example, which its manifest does not want"},
	"initial":        {"asks-early", "a flow that is not interactive"},
	"expired":        {"stale", "have expired"},
	"challenged":     {"same-again", "the very credentials again"},
	"upscope":        {"wants-more", "it asks for run, which its manifest does not want"},
	"logout":         {"logout-gives", "expected no credentials"},
	"noninteractive": {"hopes", "expected config or login"},
	"declines":       {"nags", "asked 5 times"},
	"network-down":   {"forgets", "forgot a login"},
	"server-errors":  {"no-login", "expected retry"},
	"garbage":        {"believes", "an answer that has no credentials"},
	"large":          {"explodes", "step: it"},
	"unavailable":    {"waits", "has not ended after 11m"},
	"unknown-reason": {"panics", "step: it"},
	"same-twice":     {"random", "the replies to step"},
	"handover":       {"remembers", "the replies to step"},
	"fuel":           {"spins", "used up its budget"},
}

// failedByIdle are the checks that the idle provider fails.
var failedByIdle = []string{"unknown-event", "request", "no-settings"}

func TestEveryCheckOfProvidersCanFail(t *testing.T) {
	if raceEnabled {
		t.Skip("it is done without the race detector")
	}
	for _, s := range ProviderScenarios() {
		if _, ok := providerFaults[s.ID]; !ok && !slices.Contains(failedByIdle, s.ID) {
			t.Errorf("nothing makes %s fail", s.ID)
		}
	}
	for id, m := range providerFaults {
		t.Run(id, func(t *testing.T) {
			if id == "fuel" {
				testenv.NeedsLong(t) // it uses up a budget of seconds
			}
			wantProviderFailure(t, tryBroken(t, m.fault, id), id, m.says)
		})
	}
}

// A secret in what a person reads fails the check in which it is shown.
func TestSecretsAreNotShown(t *testing.T) {
	wantProviderFailure(t, tryBroken(t, "tells", "sign-in"), "sign-in", "a secret of the settings")
}

// A provider that answers every event with done fails; one whose manifest is wrong is not
// run.
func TestIdleProvider(t *testing.T) {
	module := testenv.Module(t, "./testdata/idle")
	r := tryProvider(t, module, Options{Only: failedByIdle})
	wantProviderFailure(t, r, "unknown-event", "expected it to fail")
	wantProviderFailure(t, r, "no-settings", "expected it to fail with config")
	wantProviderFailure(t, r, "request", "expected credentials for the request")
	capitals := bytes.ReplaceAll(module, []byte(`"idle"`), []byte(`"IDLE"`))
	wantProviderFailure(t, tryProvider(t, capitals, Options{}), "describe", "small letters")
	unknownImport := bytes.ReplaceAll(module, []byte("output_set"), []byte("output_sit"))
	wantProviderFailure(t, tryProvider(t, unknownImport, Options{}), "module", "output_sit")
}

// The providers that there are pass: those that need no more than settings without
// a profile, and the others with one.
func TestProviders(t *testing.T) {
	if raceEnabled {
		t.Skip("it is done without the race detector")
	}
	const example = "../../examples/auth-"
	for _, tt := range []struct {
		name, file, profile string
		long                bool
	}{
		{"bearer", "", "", false},
		{"helper", "", "", true},
		{"oauth", "", "testdata/oauth.json", true},
		{"corp-sso", example + "corp-sso/corp-sso.wasm", "testdata/corp-sso.json", false},
		{"sigv4", example + "sigv4", "", true},
		{"nats-login", example + "nats", "testdata/nats-login.json", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.long {
				testenv.NeedsLong(t)
			}
			o := Options{Name: tt.name}
			if tt.profile != "" {
				var err error
				if o.Profile, err = ReadProfile(tt.profile); err != nil {
					t.Fatal(err)
				}
			}
			switch shipped := plugins.Builtin()[tt.name]; {
			case shipped != nil:
				wantOK(t, tryProvider(t, shipped(), o))
			case strings.HasSuffix(tt.file, ".wasm"):
				wantOK(t, tryProvider(t, read(t, tt.file), o))
			default:
				wantOK(t, tryProvider(t, testenv.Module(t, tt.file), o))
			}
		})
	}
}

// What cannot be known is skipped, and with a profile that does not tell it either,
// failed.
func TestUntoldSignIn(t *testing.T) {
	module := read(t, "../../examples/auth-corp-sso/corp-sso.wasm")
	r := tryProvider(t, module, Options{Only: []string{"sign-in"}})
	if c := r.Check("sign-in"); r.OK || c.Result != Skipped || !strings.Contains(c.Got, "describe what is around it in a profile") {
		t.Errorf("%+v", c)
	}
	r = tryProvider(t, module, Options{Only: []string{"sign-in"}, Profile: &Profile{SignIn: &SignIn{}}})
	wantProviderFailure(t, r, "sign-in", "describe what is around it")
	if text := r.Text(5); !strings.Contains(text, "class auth") || strings.Contains(text, "pluggable transports") {
		t.Error(text)
	}
}
