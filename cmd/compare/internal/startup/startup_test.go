package startup

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestBothCommandsSayHello(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs")
	}
	seen, err := Pairs(t.Context(), t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(seen.Wharf.Wall) != 1 || len(seen.Minimal.Wall) != 1 {
		t.Errorf("got %d and %d times, want one of each", len(seen.Wharf.Wall), len(seen.Minimal.Wall))
	}
}

// The test binary, told to list nothing, is a command that does not say hello. The
// command go is none for a folder that is removed: in a new home it leaves a process
// behind, which makes the files of its telemetry after go has ended.
func TestSilentCommandIsAnError(t *testing.T) {
	c := call{name: "silent", command: []string{os.Args[0], "-test.list=^$"}, home: t.TempDir()}
	if err := c.run(t.Context(), &Times{}); err == nil || !strings.Contains(err.Error(), "expected hello") {
		t.Errorf("got %v", err)
	}
}

func TestMedian(t *testing.T) {
	if got := Median([]time.Duration{9, 1, 5}); got != 5 || Median(nil) != 0 {
		t.Errorf("got %v", got)
	}
}
