package main

import (
	"os"
	"strings"
	"testing"
)

// The README sends people to the documentation for the settings.
func TestSettingsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("reference.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range manifestSettings {
		if !strings.Contains(string(doc), "\n//\t"+s.Key+" ") {
			t.Errorf("reference.go does not say what %s is", s.Key)
		}
	}
}
