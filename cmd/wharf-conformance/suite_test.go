package main

import (
	"os"
	"strings"
	"testing"
)

// TestExpectedFailures holds that only authorization may be missing, and
// nothing that the table of scenarios has steps for.
func TestExpectedFailures(t *testing.T) {
	text, err := os.ReadFile("expected-failures.yml")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		entry, listed := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if listed && !strings.HasPrefix(entry, "auth/") {
			t.Errorf("%s may not fail", entry)
		}
	}
}
