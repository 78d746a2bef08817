package plugintest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// A host refuses a server entry with a setting that the plugin does not have: the
// kit does not play on without it.
func TestUnknownSettings(t *testing.T) {
	socket := read(t, "../../plugins/stdio/stdio.wasm")
	for _, o := range []Options{
		{Settings: map[string]string{"wings": "2"}},
		{Profile: &Profile{Settings: map[string]string{"wings": "2"}}},
	} {
		_, err := Run(t.Context(), socket, o)
		if !errors.As(err, new(*OptionError)) || err.Error() != `plugin stdio has no setting "wings"; it has: framing` {
			t.Error(err)
		}
	}
	provider := testenv.Module(t, "./testdata/brokenauth")
	_, err := run(newChecker(t.Context(), &shared, provider, Options{Settings: map[string]string{"wings": "2"}}))
	if !errors.As(err, new(*OptionError)) || !strings.Contains(err.Error(), `has no setting "wings"`) {
		t.Error(err)
	}
	_, err = run(newChecker(t.Context(), &shared, provider, Options{Scenarios: []*Scenario{{ID: "x"}}}))
	if !errors.As(err, new(*OptionError)) || !strings.Contains(err.Error(), "are for transports") {
		t.Error(err)
	}
}

func TestReadScenario(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{
		"gull.txt":  "",
		"close.txt": "the kit has a check called close",
		"fuel":      "the kit has a check called fuel",
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("title: x\nopen\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := ReadScenario(file)
		if want == "" {
			if err != nil || s.ID != "gull" {
				t.Errorf("%+v, %v", s, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// Why checks were not made is told once, and a line says what the plugin lacks.
func TestShortfall(t *testing.T) {
	r := newReport(nil)
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		r.add(&Check{ID: id, Level: Required}, Skipped, "it is not known\nwhy")
	}
	r.add(&Check{ID: "j", Level: Advice}, Failed, "dear")
	r.conclude()
	if got, want := r.Shortfall(), "cannot be said to pass, as these could not be tried: a, b, c, d, e, f, g, h, … (9 of 10): it is not known"; r.OK || got != want {
		t.Errorf("got %q", got)
	}
	if text := r.Text(0); strings.Count(text, "it is not known\n") != 2 || strings.Count(text, "  skip  9: it is not known\n        why\n        a, b, c, d, e, f, g, h, i\n") != 1 {
		t.Errorf("%s", text)
	}
	r = newReport(nil)
	r.add(&Check{ID: "split", Level: Required}, Failed, "x\x1b")
	r.add(&Check{ID: "large-in", Level: Fault}, Failed, "x")
	r.add(&Check{ID: "flood", Level: Fault}, Skipped, "y")
	r.conclude()
	if got, want := r.Shortfall(), "does not pass: split, large-in (2 of 3)"; got != want {
		t.Errorf("got %q", got)
	}
	r = newReport(nil)
	r.add(&Check{ID: "fuel", Level: Advice}, Failed, "dear")
	if r.conclude(); !r.OK || r.Shortfall() != "" {
		t.Errorf("%v, %q", r.OK, r.Shortfall())
	}
}
