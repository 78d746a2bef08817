package main

import (
	"os"
	"strings"
	"testing"
)

// TestExpectedFailures holds that no scenario is expected to fail.
func TestExpectedFailures(t *testing.T) {
	text, err := os.ReadFile("expected-failures.yml")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		entry, listed := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if listed {
			t.Errorf("%s may not fail", entry)
		}
	}
}
