package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/arena"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/contestant"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/measure"
)

// TestMain lets the test binary be the program: the server and the jobs of a
// comparison are processes of their own.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && slices.Contains(append(servers, arena.Work), os.Args[1]) {
		if err := run(context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestEveryContestantCompletes takes every measure of every contestant once, in
// both eras. It looks at no figure but the lost notifications.
func TestEveryContestantCompletes(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			s, err := parse([]string{"-quick", "-era=" + era, "-pin=off"})
			if err != nil {
				t.Fatal(err)
			}
			plan, err := s.plan(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			plan.Progress = t.Output()
			runs, err := plan.Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			usual := slices.DeleteFunc(measure.All(), func(m measure.Measure) bool { return measure.IsPoint(m.Name) })
			if want := len(contestant.Names()) * len(usual); len(runs) != want {
				t.Errorf("%d runs, expected %d", len(runs), want)
			}
			for _, r := range runs {
				complete(t, r)
			}
		})
	}
}

// TestEveryCurveIsDrawn takes the first two points of each curve of every contestant.
func TestEveryCurveIsDrawn(t *testing.T) {
	folder := t.TempDir()
	s, err := parse([]string{"-quick", "-only=scale", "-figures=" + folder})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := compare(t.Context(), s, &out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "left out") {
		t.Error(out.String())
	}
	for _, c := range measure.Curves() {
		text, err := os.ReadFile(filepath.Join(folder, c.Name+".csv"))
		if want := 1 + 2*len(contestant.Names()); err != nil || bytes.Count(text, []byte("\n")) != want {
			t.Errorf("%s: expected %d lines, got %q, error %v", c.Name, want, text, err)
		}
		if _, err := os.Stat(filepath.Join(folder, c.Name+".svg")); err != nil {
			t.Error(err)
		}
	}
}

// TestAPointThatCannotBeTakenIsLeftOut has no server.
func TestAPointThatCannotBeTakenIsLeftOut(t *testing.T) {
	s, err := parse([]string{"-quick", "-only=callers-http-1,floor"})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.plan(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plan.Job.Web, plan.Progress = []string{"/nowhere"}, t.Output()
	runs, err := plan.Do(t.Context())
	if err != nil || len(runs) != 1 || !strings.Contains(runs[0].Left, "start the server") {
		t.Fatalf("got %+v, error %v", runs, err)
	}
	var out bytes.Buffer
	(&report{Runs: runs, settings: s}).print(&out)
	if !strings.Contains(out.String(), "left out: callers-http-1 of floor: ") {
		t.Error(out.String())
	}
}

// complete wants every figure of a run.
func complete(t *testing.T, r arena.Run) {
	t.Helper()
	for _, m := range measure.All() {
		if m.Name != r.Measure {
			continue
		}
		for _, metric := range m.Metrics {
			if _, ok := r.Values[metric.Name]; !ok {
				t.Errorf("%s: %s: no %s", r.Contestant, m.Name, metric.Name)
			}
		}
	}
	if lost := r.Values[measure.Lost]; lost != 0 {
		t.Errorf("%s lost %v notifications", r.Contestant, lost)
	}
}

// TestScaleIsAskedFor looks at what is other where curves are drawn.
func TestScaleIsAskedFor(t *testing.T) {
	s, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(s.measures, measure.IsPoint) || s.curves != "" || s.rounds != 7 {
		t.Errorf("got %v, %q, %d rounds", s.measures, s.curves, s.rounds)
	}
	if s, err = parse([]string{"-only=scale"}); err != nil {
		t.Fatal(err)
	}
	if len(s.measures) != len(inGroup(measure.Scale)) || s.curves == "" || s.rounds != 1 || !slices.Equal(s.pins, []bool{false}) || s.startup {
		t.Errorf("got %v, %q, %d rounds, pins %v, start %v", s.measures, s.curves, s.rounds, s.pins, s.startup)
	}
	if s, err = parse([]string{"-quick", "-only=connections-stdio"}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.measures, []string{"connections-stdio-1", "connections-stdio-10"}) || s.curves != "" {
		t.Errorf("got %v, %q", s.measures, s.curves)
	}
}

func TestOnlySortsNames(t *testing.T) {
	s, err := parse([]string{"-only=floor,flood,start"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.contestants, []string{"floor"}) || !slices.Equal(s.measures, []string{"flood"}) || !s.startup {
		t.Errorf("got %v, %v, start %v", s.contestants, s.measures, s.startup)
	}
}

func TestGroupsStandForTheirMeasures(t *testing.T) {
	s, err := parse([]string{"-only=http,floor"})
	if err != nil {
		t.Fatal(err)
	}
	if s.startup || !slices.Equal(s.measures, inGroup(measure.HTTP)) || !slices.Contains(s.measures, "http64x100B") {
		t.Errorf("http: got %v, start %v", s.measures, s.startup)
	}
	if s, err = parse([]string{"-only=memory"}); err != nil {
		t.Fatal(err)
	}
	if s.startup || !slices.Equal(s.measures, []string{"idle", "idlehttp"}) {
		t.Errorf("memory: got %v, start %v", s.measures, s.startup)
	}
	if s, err = parse([]string{"-only=stdio"}); err != nil {
		t.Fatal(err)
	}
	if !s.startup || !slices.Equal(s.measures, inGroup(measure.Stdio)) || len(s.contestants) != len(contestant.Names()) {
		t.Errorf("stdio: got %v of %v, start %v", s.measures, s.contestants, s.startup)
	}
}

// TestFiguresSurviveAnError has the last part go wrong, which looks for the
// command go.
func TestFiguresSurviveAnError(t *testing.T) {
	t.Setenv("PATH", "")
	s, err := parse([]string{"-quick", "-pin=off", "-only=floor,http100B,start"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := compare(t.Context(), s, &out); err == nil || !strings.Contains(err.Error(), "find the source") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(out.String(), "HTTP, JSON, echo 100 B") {
		t.Errorf("no figures in %q", out.String())
	}
}

func TestWrongFlagsAreNamed(t *testing.T) {
	for _, args := range [][]string{{"-only=unknown"}, {"-pin=maybe"}, {"-era=old"}, {"more"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}

// sampled is a report of one pinned round in which Wharf needs 10 µs.
func sampled(floor, sdk float64) *report {
	at := func(name string, p50 float64) arena.Run {
		return arena.Run{Pinned: true, Measure: "100B", Contestant: name, Values: measure.Values{measure.P50: p50}}
	}
	return &report{
		Runs: arena.Runs{at(contestant.Floor, floor), at(contestant.Wharf, 10), at(contestant.GoSDK, sdk)},
		settings: settings{pins: []bool{true}, contestants: contestant.Names(),
			measures: []string{"100B"}},
	}
}

func TestTargetsAreJudged(t *testing.T) {
	tests := []struct {
		floor, sdk      float64
		ofFloor, ofPeer string
	}{
		{8, 15, "met", "met"},
		{7, 14, "missed", "missed"},
	}
	for _, tt := range tests {
		verdicts := sampled(tt.floor, tt.sdk).verdicts()
		if verdicts[0].Word != tt.ofFloor || verdicts[3].Word != tt.ofPeer || verdicts[1].Word != "not measured" {
			t.Errorf("floor %v, sdk %v: got %+v", tt.floor, tt.sdk, verdicts)
		}
	}
}

// TestHTTPTargetsAreJudged has one round in which Wharf is behind a peer in one
// form only.
func TestHTTPTargetsAreJudged(t *testing.T) {
	at := func(name, who string, v measure.Values) arena.Run {
		return arena.Run{Pinned: v[measure.P50] > 0, Measure: name, Contestant: who, Values: v}
	}
	r := &report{settings: settings{pins: []bool{true, false}}, Runs: arena.Runs{
		at("http100B", contestant.Floor, measure.Values{measure.P50: 10}),
		at("http100B", contestant.Wharf, measure.Values{measure.P50: 11}),
		at("http100B", contestant.GoSDK, measure.Values{measure.P50: 22}),
		at("sse100B", contestant.Wharf, measure.Values{measure.P50: 11}),
		at("sse100B", contestant.MCPGo, measure.Values{measure.P50: 10}),
		at("http64x100B", contestant.Floor, measure.Values{measure.Rate: 50}),
		at("http64x100B", contestant.Wharf, measure.Values{measure.Rate: 39, measure.Opened: 64}),
		at("http64x100B", contestant.GoSDK, measure.Values{measure.Rate: 10}),
		at("sse64x100B", contestant.Floor, measure.Values{measure.Rate: 50}),
		at("sse64x100B", contestant.Wharf, measure.Values{measure.Rate: 41, measure.Opened: 129}),
	}}
	want := []string{"met", "missed", "met", "missed", "met", "missed"}
	var got []string
	for _, v := range r.verdicts() {
		if strings.HasPrefix(v.Target, "HTTP") {
			got = append(got, v.Word)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReportShowsFiguresAndVerdicts(t *testing.T) {
	var out bytes.Buffer
	r := sampled(8, 15)
	r.print(&out)
	for _, want := range []string{"one processor", "echo 100 B", "go-sdk", "1.25", "met", "not measured"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	file := filepath.Join(t.TempDir(), "data.json")
	if err := r.save(file); err != nil {
		t.Fatal(err)
	}
	if saved, err := os.ReadFile(file); err != nil || !bytes.Contains(saved, []byte(`"contestant": "wharf"`)) {
		t.Errorf("saved %d bytes, error %v", len(saved), err)
	}
}
