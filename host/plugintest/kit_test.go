package plugintest

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every transport that Wharf ships passes, and so does the example.
func TestShipped(t *testing.T) {
	for name, class := range map[string]string{"stdio": "process", "http": "http", "sse": "sse"} {
		t.Run(name, func(t *testing.T) {
			o := Options{Name: name}
			if raceEnabled && name == "sse" {
				t.Skip("it is done without the race detector")
			}
			if raceEnabled || name == "sse" && !testenv.Long() { // this one is in Go, and large
				o.Only = []string{"response", "same-twice", "same-together", "joined-split", "backpressure", "interleaved"}
			}
			r := report(t, plugins.Builtin()[name](), o)
			if r.Plugin.Class != class {
				t.Errorf("class %q, want %q", r.Plugin.Class, class)
			}
			wantOK(t, r)
		})
	}
}

func TestExample(t *testing.T) {
	testenv.NeedsLong(t) // the test of the example puts it to a part of the kit
	wantOK(t, report(t, testenv.Module(t, "../../examples/transport-socket"), Options{Name: "socket"}))
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func report(t testing.TB, module []byte, o Options) *Report {
	t.Helper()
	if !testenv.Long() {
		o.cutEvery = 11
	}
	r, err := runTransport(newChecker(t.Context(), &shared, module, o))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantOK wants all checks to pass, also those that are not binding.
func wantOK(t *testing.T, r *Report) {
	t.Helper()
	if !r.OK {
		t.Error("it does not pass")
	}
	for _, c := range r.Checks {
		if c.Result == Failed || c.Result == Skipped {
			t.Errorf("%s: %s: %s\n%s", c.Result, c.ID, c.Got, c.Trace)
		}
	}
	if testing.Verbose() {
		t.Log("\n" + r.Text(30))
	}
}
