package main

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestMain lets the test play the parts that the program starts itself in.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{partServer, partWeb, partPump, partProxy, partReverse}, os.Args[1]) {
		main()
		return
	}
	os.Exit(m.Run())
}

// Every measure of every contestant that needs no npm can be taken.
func TestQuick(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), []string{"-quick", "-pin=false"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, m := range measures {
		if !strings.Contains(out.String(), m.name) {
			t.Errorf("nothing of %s in\n%s", m.name, &out)
		}
	}
}

func TestRatiosAreTakenWithinARound(t *testing.T) {
	f := figures{values: make(map[key]map[int]float64)}
	name := measures[0].name
	for round, pump := range []float64{10, 100, 1000} {
		f.put(key{name, "pump"}, round, pump)
		f.put(key{name, "direct"}, round, pump/[]float64{2, 4, 8}[round])
	}
	var out bytes.Buffer
	f.print(&out)
	if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, "direct 25 µs 0.25× pump") {
		t.Error(got)
	}
}
