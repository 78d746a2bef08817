package host_test

import (
	"encoding/json"
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
	"github.com/wharf-mcp/wharf/sdk/template"
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

// measuredPlugin is a plugin whose price is asked for.
type measuredPlugin struct {
	Plugin   string             `json:"plugin"`
	Language string             `json:"language"`
	Size     int                `json:"size"` // bytes
	Figures  map[string]float64 `json:"figures"`

	file  string                    // none for what is built, or for no plugin at all
	build func(t *testing.T) string // of what is built, since no module of it is committed; "" where the compiler is not here
	kind  string                    // socket, transport or provider; none for no plugin at all
	kept  []string                  // the cells of a row that is not measured now
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

// wares are the rows of the table: the exchange without any plugin, one transport in
// each language, and what is shipped.
func wares(t *testing.T) []*measuredPlugin {
	t.Helper()
	all := []*measuredPlugin{
		{Plugin: "none"},
		{Plugin: "socket", Language: "Go", build: buildGo, kind: kindSocket},
		{Plugin: "socket", Language: "C", file: "../examples/transport-socket-c/socket.wasm", kind: kindSocket},
		{Plugin: "socket", Language: "Rust", build: buildRust, kind: kindSocket},
		{Plugin: "socket", Language: "AssemblyScript", file: "../examples/transport-socket-as/socket.wasm", kind: kindSocket},
	}
	for _, name := range slices.Sorted(maps.Keys(plugins.Builtin())) {
		w := &measuredPlugin{Plugin: name, Language: "Go", file: filepath.Join(t.TempDir(), name+".wasm"), kind: kindTransport}
		if err := os.WriteFile(w.file, plugins.Builtin()[name](), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat("../plugins/" + name + "/main.go"); err != nil {
			w.Language = "C"
		}
		all = append(all, w)
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

// left is the beginning of the row of a measuredPlugin, which needs no measuring.
func (w *measuredPlugin) left() string {
	return fmt.Sprintf("| %s | %s |", w.Plugin, orDash(w.Language))
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// cells are what is behind: the size of the file, and the figures.
func (w *measuredPlugin) cells() []string {
	if w.kept != nil {
		return w.kept
	}
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
	_, machine, rows, _ := readCosts(t)
	known := knownCosts(rows)
	if *costs == "all" {
		measureAll(t, all, known)
		writeCosts(t, all, costsMachine())
		return
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

// knownCosts are the cells of the rows of a table, by what the rows begin with.
func knownCosts(rows string) map[string][]string {
	known := map[string][]string{}
	for line := range strings.Lines(rows) {
		if cells := strings.Split(strings.Trim(line, "| \n"), " | "); len(cells) == 3+len(costColumns) {
			known["| "+cells[0]+" | "+cells[1]+" |"] = cells[2:]
		}
	}
	return known
}

func writeCosts(t *testing.T, all []*measuredPlugin, machine string) {
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
// meets all of them. The least of the rounds counts: what else goes on only adds. What
// cannot be built here keeps the row that it had.
func measureAll(t *testing.T, all []*measuredPlugin, known map[string][]string) {
	dir := t.TempDir()
	served := serveCosts(t, filepath.Join(dir, "loft.sock"))
	for _, w := range all {
		w.Figures = map[string]float64{}
		if w.build != nil {
			w.file = w.build(t)
		}
		switch {
		case w.build != nil && w.file == "":
			w.kept = known[w.left()]
		case w.file != "":
			w.Size = len(readModule(t, w.file))
			if isProviderFile(t, w.file) {
				w.kind = kindProvider
			}
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
func (w *measuredPlugin) countFuel(t *testing.T) {
	t.Helper()
	if w.file == "" || w.kind == kindProvider {
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

// buildGo builds the example in Go as the shipped plugins are built.
func buildGo(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "socket.wasm")
	for _, args := range [][]string{
		{"build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", file, "../examples/transport-socket"},
		{"run", "../cmd/mkplugin", file},
	} {
		cmd := exec.Command("go", args...)
		if args[0] == "build" {
			cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
		}
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", args, err, said)
		}
	}
	return file
}

// buildRust builds what `wharf plugin new --lang rust` writes, with the compiler that
// RUSTC names, or rustc.
func buildRust(t *testing.T) string {
	t.Helper()
	files, err := template.Plugin{Name: "socket", Kind: template.Transport, Lang: template.Rust}.Files()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "build")
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Logf("socket in Rust is not measured: %v\n%s", err, said)
		return ""
	}
	return filepath.Join(dir, "socket.wasm")
}
