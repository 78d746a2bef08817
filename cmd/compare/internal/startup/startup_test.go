package startup

import (
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

func TestSilentCommandIsAnError(t *testing.T) {
	c := call{name: "version", command: []string{"go", "version"}, home: t.TempDir()}
	if err := c.run(t.Context(), &Times{}); err == nil || !strings.Contains(err.Error(), "expected hello") {
		t.Errorf("got %v", err)
	}
}

func TestMedian(t *testing.T) {
	if got := Median([]time.Duration{9, 1, 5}); got != 5 || Median(nil) != 0 {
		t.Errorf("got %v", got)
	}
}
