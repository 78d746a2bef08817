package plugintest

import (
	"os"
	"testing"
)

// Test tests the module in a file, as part of a plugin's own tests. Every check is a
// subtest. A failed check that is advice or recommended is only logged.
func Test(t *testing.T, file string) {
	t.Helper()
	TestWith(t, file, Options{})
}

// TestWith is Test with options.
func TestWith(t *testing.T, file string, o Options) {
	t.Helper()
	module, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), module, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		t.Run(c.ID, func(t *testing.T) { c.tell(t) })
	}
}

// tell reports a check as a subtest.
func (c *Check) tell(t *testing.T) {
	switch {
	case c.Result == Failed && c.Level.binding():
		t.Errorf("%s\n%s\n%s", c.Title, c.Got, c.Trace)
	case c.Result == Failed:
		t.Logf("%s: %s\n%s", c.Level, c.Title, c.Got)
	case c.Result == Skipped && c.Level.binding():
		t.Errorf("%s: it could not be tried: %s", c.Title, c.Got)
	case c.Result != Passed:
		t.Skip(c.Got)
	}
}
