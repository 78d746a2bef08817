package host_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/plugintest"
	"github.com/wharf-mcp/wharf/plugins"
)

var (
	costs     = flag.String("costs", "", "write to COSTS.md what plugins cost: `all` measures, sizes looks at the files alone")
	costsJSON = flag.String("costs.json", "", "with -costs all, write the figures to a `file` as well")
)

const (
	costsFile  = "COSTS.md"
	costsBegin = "<!-- costs -->\n"
	costsEnd   = "<!-- end of costs -->\n"
	costsHead  = "| Plugin | Written in | File | Compiled anew | From the cache | A start | First connection | Each further | A call | Fuel |\n" +
		"|-|-|-:|-:|-:|-:|-:|-:|-:|-:|\n"
	costRounds = 5
)

// ware is a plugin whose price is asked for.
type ware struct {
	Plugin   string             `json:"plugin"`
	Language string             `json:"language"`
	Size     int                `json:"size"` // bytes
	Figures  map[string]float64 `json:"figures"`

	file  string // none for what is built, or for no plugin at all
	build string // the folder of what is built, since no module of it is committed
	kind  string // socket, transport or provider; none for no plugin at all
}

const (
	kindSocket    = "socket" // a transport that the server of this test speaks to
	kindTransport = "transport"
	kindProvider  = "provider"
)

// costColumns are what is measured, in the order of the table: times in microseconds,
// memory in KiB, and fuel in units.
var costColumns = []struct {
	name string
	show func(v float64) string
}{
	{"compile", inMillis}, {"cached", inMillis}, {"start", func(v float64) string { return grouped(int(v)) + " µs" }},
	{"first", inMega}, {"further", inKilo},
	{"call", inMicros}, {"fuel", func(v float64) string { return grouped(int(v)) }},
}

func inMillis(v float64) string { return strconv.FormatFloat(v/1000, 'f', 1, 64) + " ms" }
func inMicros(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) + " µs" }
func inMega(v float64) string   { return strconv.FormatFloat(v/1024, 'f', 1, 64) + " MB" }
func inKilo(v float64) string   { return strconv.FormatFloat(v, 'f', 0, 64) + " KB" }

// grouped writes a number with commas.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// languages are those of the examples of one transport, by the end of their folder.
var languages = map[string]string{"c": "C", "as": "AssemblyScript", "rust": "Rust"}

// wares are the rows of the table: the exchange without any plugin, one transport in
// each language, and what is shipped.
func wares(t *testing.T) []*ware {
	t.Helper()
	all := []*ware{{Plugin: "none"}, {Plugin: "socket", Language: "Go", build: "../examples/transport-socket", kind: kindSocket}}
	for _, end := range slices.Sorted(maps.Keys(languages)) {
		file := "../examples/transport-socket-" + end + "/socket.wasm"
		if _, err := os.Stat(file); err == nil {
			all = append(all, &ware{Plugin: "socket", Language: languages[end], file: file, kind: kindSocket})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(plugins.Builtin())) {
		all = append(all, &ware{Plugin: name, Language: "Go", file: "../plugins/" + name + "/" + name + ".wasm", kind: kindTransport})
	}
	for _, w := range all {
		if w.file != "" {
			w.Size = len(readModule(t, w.file))
		}
	}
	return all
}

func readModule(t *testing.T, file string) []byte {
	t.Helper()
	module, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// left is the beginning of the row of a ware, which needs no measuring.
func (w *ware) left() string {
	return fmt.Sprintf("| %s | %s |", w.Plugin, orDash(w.Language))
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// cells are what is behind: the size of the file, and the figures.
func (w *ware) cells() []string {
	cells := []string{"–"}
	if w.Size > 0 {
		cells[0] = grouped(w.Size) + " B"
	}
	for _, c := range costColumns {
		v, measured := w.Figures[c.name]
		if !measured {
			cells = append(cells, "–")
			continue
		}
		cells = append(cells, c.show(v))
	}
	return cells
}

func costRow(left string, cells []string) string {
	return left + " " + strings.Join(cells, " | ") + " |\n"
}

// costCell is what a figure looks like.
var costCell = regexp.MustCompile(`^(–|[0-9][0-9.,]*( (B|ms|µs|MB|KB))?)$`)

// TestCosts holds COSTS.md together: each language and each shipped plugin has its
// row, and the sizes are those of the files. Times and memory are measured when one
// asks for it, and differ from machine to machine.
func TestCosts(t *testing.T) {
	all := wares(t)
	if *costs == "all" {
		measureAll(t, all)
		writeCosts(t, all, costsMachine())
		return
	}
	_, machine, rows, _ := readCosts(t)
	known := map[string][]string{}
	for line := range strings.Lines(rows) {
		if cells := strings.Split(strings.Trim(line, "| \n"), " | "); len(cells) == 3+len(costColumns) {
			known["| "+cells[0]+" | "+cells[1]+" |"] = cells[2:]
		}
	}
	want := costsHead
	for _, w := range all {
		cells := known[w.left()]
		if cells == nil {
			t.Fatalf("no row %q in %s: run go test ./host -run '^TestCosts$' -costs all", w.left(), costsFile)
		}
		if w.Size > 0 {
			cells[0] = w.cells()[0]
		}
		for _, cell := range cells {
			if !costCell.MatchString(cell) {
				t.Errorf("the row of %s, %s has %q for a figure", w.Plugin, w.Language, cell)
			}
		}
		want += costRow(w.left(), cells)
	}
	switch {
	case rows == want:
	case *costs == "sizes":
		writeCostsTable(t, machine, want)
	default:
		t.Errorf("the table of %s is\n%s\nand should be\n%s\nFor another size, run go test ./host -run '^TestCosts$' -costs sizes", costsFile, rows, want)
	}
}

// readCosts returns COSTS.md: the line that names the machine and the table, and what
// is around them.
func readCosts(t *testing.T) (before, machine, rows, after string) {
	t.Helper()
	text, err := os.ReadFile(costsFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), costsBegin)
	table, after, ends := strings.Cut(rest, costsEnd)
	machine, rows, split := strings.Cut(table, "\n\n")
	if !begins || !ends || !split {
		t.Fatalf("%s has no machine and no table of it between %q and %q", costsFile, costsBegin, costsEnd)
	}
	return before, machine, rows, after
}

func writeCosts(t *testing.T, all []*ware, machine string) {
	t.Helper()
	rows := costsHead
	for _, w := range all {
		rows += costRow(w.left(), w.cells())
	}
	t.Log("\n" + machine + "\n\n" + rows)
	writeCostsTable(t, machine, rows)
	if *costsJSON == "" {
		return
	}
	text, err := json.MarshalIndent(map[string]any{"machine": machine, "plugins": all}, "", "\t")
	if err == nil {
		err = os.WriteFile(*costsJSON, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

func writeCostsTable(t *testing.T, machine, rows string) {
	t.Helper()
	before, _, _, after := readCosts(t)
	if err := os.WriteFile(costsFile, []byte(before+costsBegin+machine+"\n\n"+rows+costsEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func costsMachine() string {
	return fmt.Sprintf("Measured with %s on %s/%s, %d processors.", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// measureAll fills in the figures, in rounds, so that what the machine does meanwhile
// meets all of them. The least of the rounds counts: what else goes on only adds.
func measureAll(t *testing.T, all []*ware) {
	dir := t.TempDir()
	served := serveCosts(t, filepath.Join(dir, "loft.sock"))
	for _, w := range all {
		if w.Figures = map[string]float64{}; w.build != "" {
			w.file = filepath.Join(dir, "socket.wasm")
			buildModule(t, w.build, w.file)
			w.Size = len(readModule(t, w.file))
		}
		if w.file != "" && isProviderFile(t, w.file) {
			w.kind = kindProvider
		}
		w.countFuel(t)
	}
	for round := range costRounds {
		for n, w := range all {
			cache := filepath.Join(dir, fmt.Sprintf("cache-%d-%d", round, n))
			w.measure(t, &costJob{File: w.file, Kind: w.kind, Cache: cache, Address: "unix:" + served})
			os.RemoveAll(cache)
		}
		t.Logf("round %d of %d: done", round+1, costRounds)
	}
}

// countFuel asks the kit what a request of 1 KiB and its answer take.
func (w *ware) countFuel(t *testing.T) {
	t.Helper()
	if w.kind == "" || w.kind == kindProvider {
		return
	}
	report, err := plugintest.Run(t.Context(), readModule(t, w.file), plugintest.Options{Only: []string{"fuel"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Figures {
		if f.ID == "fuel-out" || f.ID == "fuel-in" {
			w.Figures["fuel"] += float64(f.Value)
		}
	}
}

// buildModule builds a guest in Go as the shipped ones are built.
func buildModule(t *testing.T, folder, file string) {
	t.Helper()
	for _, args := range [][]string{
		{"build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", file, folder},
		{"run", "../cmd/mkplugin", file},
	} {
		cmd := exec.Command("go", args...)
		if args[0] == "build" {
			cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
		}
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatal(errors.Join(err, errors.New(string(said))))
		}
	}
}
