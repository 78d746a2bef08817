package host_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var writeSoak = flag.Bool("soak.write", false, "append what a soak has measured to docs/FIGURES.md")

// figures are what is measured after each round, when no call is under way, and by how
// much each may be more in the last tenth of a soak than in the second: medians of
// both, so that a few odd rounds do not count. A leak of one thing a round adds four
// fifths of the rounds, and there are a hundred in eight minutes; one of 1 KB a call
// adds 1.6 MB a round. The slack of goroutines and descriptors is that of idle HTTP
// connections: two descriptors and up to four goroutines each, both ends being here.
var figures = [...]struct {
	name  string
	slack int64
	mega  bool // is shown in MB
}{
	{"resident memory", 12 << 20, true},
	{"heap", 4 << 20, true},
	{"goroutines", 60, false},
	{"descriptors", 48, false},
	{"processes", 2, false},
	{"temporary files", 4, false},
}

// sample is one value of each figure.
type sample [len(figures)]int64

// measure collects the garbage, and takes a sample.
func (s *soak) measure(t *testing.T) sample {
	savedLists(t)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	resident, err := strconv.ParseInt(strings.Fields(lineOf(status, "RssAnon:"))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	return sample{
		resident << 10, int64(heap.HeapAlloc), int64(runtime.NumGoroutine()),
		int64(len(openFiles(t))), int64(len(s.processes(t))), int64(len(filesIn(t, s.temp))),
	}
}

// tenth returns the median of a figure in the nth tenth of a soak, from 0 on.
func tenth(samples []sample, n, figure int) int64 {
	from := len(samples) * n / 10
	to := max(from+1, len(samples)*(n+1)/10)
	var values []int64
	for _, s := range samples[from:to] {
		values = append(values, s[figure])
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// leaks says what has grown. A short soak is too short for that: it fills caches and
// opens connections.
func leaks(samples []sample) (grown []string) {
	for f, figure := range figures {
		early, late := tenth(samples, 1, f), tenth(samples, 9, f)
		if late-early > figure.slack {
			grown = append(grown, fmt.Sprintf("%s grew from %d to %d, and may grow by %d", figure.name, early, late, figure.slack))
		}
	}
	return grown
}

// curve is a figure in each tenth of a soak.
func (s *soak) curve(figure int) string {
	var points []string
	for n := range 10 {
		v := tenth(s.samples, n, figure)
		if figures[figure].mega {
			v >>= 20
		}
		points = append(points, strconv.FormatInt(v, 10))
	}
	return strings.Join(points, " ")
}

const (
	soakFile  = "../docs/FIGURES.md"
	soakBegin = "<!-- soak -->\n"
	soakEnd   = "<!-- end of soak -->\n"
)

// write adds a row set to the file where the figures are kept.
func (s *soak) write(t *testing.T, took time.Duration, ends map[string]int) {
	if !*writeSoak || t.Failed() {
		return
	}
	text, err := os.ReadFile(soakFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), soakBegin)
	table, after, found := strings.Cut(rest, soakEnd)
	if !begins || !found {
		t.Fatalf("%s has no table between %q and %q", soakFile, soakBegin, soakEnd)
	}
	calls := 0
	for _, n := range ends {
		calls += n
	}
	table += fmt.Sprintf("| **%s**: %d servers, %d rounds, %s calls (%s answered) | | |\n", took.Round(time.Second), len(s.entries), len(s.samples),
		grouped(calls), grouped(ends[done.String()]))
	table += fmt.Sprintf("| %d kills and resets, %d reloads with a new plugin, %d refreshes, %d sign-ins, %d hostile modules, %d misdeeds of servers | | |\n",
		s.tally.losses, s.tally.reloads, s.tally.refreshes, s.tally.logins, s.tally.attacks, s.tally.misdeeds)
	for f, figure := range figures {
		slack := strconv.FormatInt(figure.slack, 10)
		if figure.mega {
			slack = fmt.Sprintf("%d MB", figure.slack>>20)
		}
		table += fmt.Sprintf("| %s | %s | %s |\n", figure.name, s.curve(f), slack)
	}
	if err := os.WriteFile(soakFile, []byte(before+soakBegin+table+soakEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The bounds of a soak let noise pass, and no leak of one thing a round or of 1 KB a
// call.
func TestSoakFindsLeaks(t *testing.T) {
	const rounds = 100
	flat := make([]sample, rounds)
	for n := range flat {
		for f, figure := range figures {
			flat[n][f] = 1000<<20 + int64(n%7)*figure.slack/8
		}
		flat[n][0] += int64(n%10/9) << 30 // one round of ten is odd
	}
	if grown := leaks(flat); len(grown) > 0 {
		t.Errorf("without a leak: %q", grown)
	}
	for f, figure := range figures {
		a := int64(1)
		if figure.mega {
			a = int64(longSoak.calls) << 10
		}
		leaking := slices.Clone(flat)
		for n := range leaking {
			leaking[n][f] += a * int64(n)
		}
		if grown := leaks(leaking); len(grown) != 1 || !strings.HasPrefix(grown[0], figure.name) {
			t.Errorf("a leak of %d %s a round: %q", a, figure.name, grown)
		}
	}
}

// A soak finds the table that it adds to.
func TestSoakFile(t *testing.T) {
	text, err := os.ReadFile(soakFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, rest, found := strings.Cut(string(text), soakBegin); !found || !strings.Contains(rest, soakEnd) {
		t.Errorf("%s has no table between %q and %q", soakFile, soakBegin, soakEnd)
	}
}
