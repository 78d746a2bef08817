package host_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/mcp"
)

var chart = flag.Bool("hostile", false, "write what it took to stop each hostile module to HOSTILE.md")

const (
	chartFile  = "HOSTILE.md"
	chartBegin = "<!-- corpus -->\n"
	chartEnd   = "<!-- end of corpus -->\n"
	chartHead  = "| Attack | What stops it | How it ends | Time | Heap | What holds it |\n|-|-|-|-:|-:|-|\n"
)

// besides are the tests of what stops an attack, in the package that it is built in.
var besides = map[string]string{
	eventBudget: "host/internal/wasm/hostile_test.go: TestHogsStop",
	stackBudget: "host/internal/wasm/hostile_test.go: TestRecursionStops",
	initBudget:  "host/internal/wasm/engine_test.go: TestInitializeHasItsOwnBudget",
	rateBudget:  "host/internal/guest/hostile_test.go: TestGreedyTimers",

	"what is moved is paid for first":              "host/internal/wasm/hostile_test.go: TestBulkOperationsPayByLength",
	"256 pages of memory":                          "host/internal/wasm/hostile_test.go: TestGrowthIsBounded",
	"65,536 entries in a table":                    "host/internal/wasm/hostile_test.go: TestGrowthIsBounded",
	"the instruction itself":                       "host/internal/wasm/hostile_test.go: TestTrapsSayWhy",
	"every pointer, window and block is checked":   "host/internal/guest/forged_test.go: TestForgedCalls",
	"the state of the connection":                  "host/internal/guest/forged_test.go: TestForgedCalls",
	"handles are looked up, with their generation": "host/internal/guest/forged_test.go: TestForgedCalls",
	"32 timers":                                          "host/internal/capability/timers_test.go: TestTimersAreBounded",
	"16 opens at once, then one in 250 ms":               "host/internal/capability/process/table_test.go: TestOpensAreRated",
	"1,024 messages under way":                           "host/internal/guest/hostile_test.go: TestHostileGuests",
	"the features of core V2, and no others":             "host/internal/wasm/hostile_test.go: TestLookRefuses",
	"a list of imports and exports, with their types":    "host/internal/wasm/hostile_test.go: TestLookRefuses",
	"what the host adds to a module has no number in it": "host/internal/wasm/hostile_test.go: TestLookRefuses",
	"an estimate of what compiling takes":                "host/internal/wasm/effort_test.go: TestCompileBombsAreRefused",
	"65,536 entries in all element segments":             "host/internal/wasm/effort_test.go: TestElementsAreBounded",
	"20,000 functions":                                   "host/internal/wasm/limits_test.go: TestLimitsEndTheReading",
	"the reader of modules":                              "host/internal/wasm/fuzz_test.go: FuzzLook",
	"the validation of wazero":                           "host/internal/wasm/engine_test.go: TestInvalidModulesAreRefusedByCompiling",
	"a manifest is asked for":                            "host/internal/guest/order_test.go: TestDescribeFails",
}

// row is the row of an attack in HOSTILE.md, but for what was measured.
func (a *attack) row() (before, after string) {
	held := "`host/hostile_corpus_test.go: TestHostileCorpus`"
	if beside, ok := besides[a.limit]; ok {
		held += ", `" + beside + "`"
	}
	return fmt.Sprintf("| %s | %s | %s |", a.name, a.limit, a.ends.kind), " | " + held + " |"
}

// writeChart writes the table of the corpus with what was measured.
func writeChart(t *testing.T, all []attack, measured []cost) {
	t.Helper()
	before, _, after := readChart(t)
	rows := chartHead
	for n, a := range all {
		left, right := a.row()
		rows += fmt.Sprintf("%s %.1f ms | %.1f MB%s\n", left, measured[n].time.Seconds()*1000, float64(measured[n].heap)/1e6, right)
	}
	if err := os.WriteFile(chartFile, []byte(before+chartBegin+rows+chartEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readChart returns HOSTILE.md: the table of the corpus, and what is around it.
func readChart(t *testing.T) (before, rows, after string) {
	t.Helper()
	text, err := os.ReadFile(chartFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), chartBegin)
	rows, after, ends := strings.Cut(rest, chartEnd)
	if !begins || !ends {
		t.Fatalf("%s has no table of the corpus between %q and %q", chartFile, chartBegin, chartEnd)
	}
	return before, rows, after
}

// TestHostile holds HOSTILE.md together: every module of the corpus, every host call
// and every kind of grant has its row, a row of the corpus says what the code says,
// and the tests that are named are there.
func TestHostile(t *testing.T) {
	before, rows, after := readChart(t)
	body, ok := strings.CutPrefix(rows, chartHead)
	if !ok {
		t.Errorf("the table of the corpus begins with other columns than %q", chartHead)
	}
	lines := slices.Collect(strings.Lines(body))
	all := corpus()
	for n := range max(len(all), len(lines)) {
		switch {
		case n >= len(lines):
			t.Errorf("no row for %q: run go test ./host -run TestHostileCorpus -hostile", all[n].name)
		case n >= len(all):
			t.Errorf("no module for the row %q", lines[n])
		default:
			left, right := all[n].row()
			if measured, ok := strings.CutPrefix(lines[n], left); !ok || !strings.HasSuffix(measured, " MB"+right+"\n") {
				t.Errorf("the row of %q is %q", all[n].name, lines[n])
			}
		}
	}
	for line := range strings.Lines(before + rows + after) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| Attack") && !strings.HasPrefix(line, "| Host call") && !strings.HasPrefix(line, "| Grant") && !strings.HasPrefix(line, "| Message") && !strings.HasPrefix(line, "| Rule") {
			checkHold(t, cells[0], cells[len(cells)-1])
		}
	}
	for n := range 12 {
		if rule := fmt.Sprintf("\n| S%d. ", n+1); strings.Count(after, rule) != 1 {
			t.Errorf("no row for the rule %s", rule)
		}
	}
	for _, c := range abi.Calls() {
		if !strings.Contains(after, "\n| `"+c.String()+"` |") {
			t.Errorf("no row for the host call %s", c)
		}
	}
	for _, kind := range openKinds() {
		if !strings.Contains(after, "\n| `"+kind.String()+"` |") {
			t.Errorf("no row for the grants of kind %s", kind)
		}
	}
}

// The bounds that the page names are those of the code.
func TestHostileBounds(t *testing.T) {
	_, _, after := readChart(t)
	count := func(n int) string {
		if n < 1000 {
			return fmt.Sprint(n)
		}
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	size := func(n int) string {
		if n < 1<<20 {
			return fmt.Sprintf("%g KiB", float64(n)/(1<<10))
		}
		return fmt.Sprintf("%g MiB", float64(n)/(1<<20))
	}
	for _, words := range []string{
		count(mcp.MaxElements) + " elements in all its arrays",
		fmt.Sprintf("%s elements, %s pages and %s, for all pages together", count(mcp.MaxElements), count(mcp.MaxPages), size(mcp.MaxListBytes)),
		count(mcp.MaxHeaderParams) + " headers",
		size(mcp.MaxSchemaBytes) + " for a schema",
		fmt.Sprintf("%s questions at a time, 10 times; %s of state", count(mcp.MaxAsked), size(mcp.MaxState)),
		fmt.Sprintf("%s, %s fields, %s values to choose from", size(mcp.MaxFormBytes), count(mcp.MaxFormFields), count(mcp.MaxOptions)),
	} {
		if !strings.Contains(after, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
}

// The names of the corpus are those of its rows, so no two may be the same.
func TestHostileNames(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range corpus() {
		if seen[a.name] || a.name == "" || a.limit == "" || strings.ContainsAny(a.name+a.limit, "|\n") {
			t.Errorf("%q: want a name of its own, and a limit", a.name)
		}
		seen[a.name] = true
	}
}
