// Sizes measures what a change can make larger without a test that fails: the stripped
// program and its plugins, what a start takes, and the allocations of a message. It prints
// each figure with its bound of bounds.txt, and fails where one is exceeded. Run it
// from the top of the repository.
//
// Sizes and allocations are the same on each machine, and their bounds have little slack.
// Times are compared with those of a program that does nothing, on the same machine. Their bounds and
// those of memory only notice what costs twice as much.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

//go:embed bounds.txt
var bounds string

// nothing is the argument with which this program ends at once.
const nothing = "nothing"

func main() {
	if len(os.Args) == 2 && os.Args[1] == nothing {
		return
	}
	log.SetFlags(0)
	dir, err := os.MkdirTemp("", "wharf-sizes-")
	if err != nil {
		log.Fatal(err)
	}
	ok, err := run(dir)
	if err = cmp.Or(err, os.RemoveAll(dir)); err != nil {
		log.Fatal(err)
	}
	if !ok {
		os.Exit(1)
	}
}

// figure is what was measured of one thing.
type figure struct {
	name  string
	value float64
}

func run(dir string) (bool, error) {
	var all []figure
	for _, measure := range []func(dir string) ([]figure, error){program, modules, initialized, starts, resident, messages} {
		figures, err := measure(dir)
		if err != nil {
			return false, err
		}
		all = append(all, figures...)
	}
	return compare(all)
}

// compare prints all figures, and reports whether each is within its bound, and whether
// all that is bounded was measured.
func compare(all []figure) (bool, error) {
	limits := make(map[string]float64)
	for line := range strings.Lines(bounds) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		limit, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			return false, fmt.Errorf("bounds.txt: %q: %w", line, err)
		}
		limits[strings.TrimSpace(line[:i])] = limit
	}
	ok := true
	for _, f := range all {
		limit, bounded := limits[f.name]
		delete(limits, f.name)
		verdict := ""
		if !bounded || f.value > limit {
			verdict, ok = "  <- TOO MUCH, or not in .ci/sizes/bounds.txt", false
		}
		fmt.Printf("%-68s %10s of %8s%s\n", f.name, decimal(f.value), decimal(limit), verdict)
	}
	for name := range limits {
		fmt.Printf("%-68s was not measured\n", name)
		ok = ok && runtime.GOOS != "linux" // memory is counted there only
	}
	return ok, nil
}

func decimal(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// binary is where the program of a release is built.
func binary(dir string) string { return filepath.Join(dir, "bin", "wharf") }

// program builds the program as a release does. A method that is looked up by its name
// has the linker keep all methods of all types, megabytes of them.
func program(dir string) ([]figure, error) {
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid= -dumpdep", "-o", binary(dir), "./cmd/wharf")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	dependencies, err := c.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("build the program: %w: %s", err, dependencies)
	}
	info, err := os.Stat(binary(dir))
	if err != nil {
		return nil, err
	}
	return []figure{
		{"program, bytes", float64(info.Size())},
		{"program, functions that look up methods by name", float64(bytes.Count(dependencies, []byte("<ReflectMethod>")))},
	}, nil
}

// modules are the plugins that are part of the program, as it has them.
func modules(string) ([]figure, error) {
	paths, err := filepath.Glob("plugins/*/*.wasm*")
	var figures []figure
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure{path + ", bytes", float64(info.Size())})
	}
	return figures, err
}

var initLine = regexp.MustCompile(`(?m)^init .* (\d+) bytes, (\d+) allocs$`)

// initialized is what the packages of the program allocate before main.
func initialized(dir string) ([]figure, error) {
	c := exec.Command(binary(dir), "version")
	c.Env = append(environment(dir), "GODEBUG=inittrace=1")
	out, err := c.CombinedOutput()
	if err != nil {
		return nil, err
	}
	var size, count float64
	for _, m := range initLine.FindAllSubmatch(out, -1) {
		n, _ := strconv.ParseFloat(string(m[1]), 64)
		size += n
		n, _ = strconv.ParseFloat(string(m[2]), 64)
		count += n
	}
	return []figure{{"before main, bytes allocated", size}, {"before main, allocations", count}}, nil
}

func environment(dir string) []string {
	return append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_STATE_HOME="+dir)
}

// starts runs two commands and a program that does nothing in turn, and compares the medians of the commands
// with that of this program. The first runs fill the caches. A command counts with the server that it starts.
func starts(dir string) ([]figure, error) {
	const rounds = 15
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	commands := [][]string{{self, nothing}, {binary(dir), "version"}, {binary(dir), "call", "demo", "echo", "message=hello"}}
	times := make([][]float64, len(commands))
	for round := range rounds + 1 {
		for i, command := range commands {
			c := exec.Command(command[0], command[1:]...)
			c.Env = environment(dir)
			if out, err := c.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%v: %w: %s", command, err, out)
			}
			if round > 0 {
				times[i] = append(times[i], float64(c.ProcessState.UserTime()+c.ProcessState.SystemTime()))
			}
		}
	}
	var figures []figure
	for i := range commands {
		slices.Sort(times[i])
		if i > 0 {
			name := "wharf " + strings.Join(commands[i][1:], " ")
			figures = append(figures, figure{name + ", times what nothing takes", times[i][rounds/2] / times[0][rounds/2]})
		}
	}
	return figures, nil
}

var residentLine = regexp.MustCompile(`(?m)^(VmRSS|RssAnon):\s+(\d+) kB$`)

// resident is what the program has in memory with one connection at rest: as a shell that has
// made a call, with caches that are filled. The server is a process of its own. RssAnon does
// not depend on how much of the file is in memory.
func resident(dir string) ([]figure, error) {
	if runtime.GOOS != "linux" {
		return nil, nil
	}
	c := exec.Command(binary(dir), "shell", "demo")
	c.Env = environment(dir)
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	fmt.Fprintln(in, "echo message=hello")
	_, err = bufio.NewReader(out).ReadString('\n')
	status, readErr := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
	in.Close()
	if err = cmp.Or(err, readErr, c.Wait()); err != nil {
		return nil, err
	}
	var figures []figure
	for _, m := range residentLine.FindAllSubmatch(status, -1) {
		kilobytes, _ := strconv.ParseFloat(string(m[2]), 64)
		name := map[string]string{"VmRSS": "one connection at rest, MB resident", "RssAnon": "one connection at rest, MB of its own"}[string(m[1])]
		figures = append(figures, figure{name, kilobytes / 1024})
	}
	return figures, nil
}

// messageBenchmarks are packages and what is run there.
var messageBenchmarks = [][2]string{
	{"./host/benchmark", "^BenchmarkCall$/^(100|10000|64x100)$"},
	{"./host/internal/rpc", "^Benchmark(Call|Call64|DeliverNotification|Pipelined)$"},
	{"./host/internal/session", "^Benchmark(CallWithHeaderParams|ReadPage)$"},
	{"./host/internal/session", "^BenchmarkCallTool$/^(100B|10KB)$"},
	{"./host/internal/guest", "^Benchmark(Hop|Answer)$"},
	{"./host/telemetry", "^BenchmarkObserver$/^traces$"},
}

// allocations matches a line, of which the name ends with the number of processors.
var allocations = regexp.MustCompile(`^(Benchmark\S+?)(-\d+)?\s.* (\d+) allocs/op`)

// messages has what the benchmarks of messages allocate, the least of three runs: on a busy machine a message may
// take a slower way now and then. Their times are for make bench.
func messages(string) ([]figure, error) {
	var figures []figure
	for _, b := range messageBenchmarks {
		out, err := exec.Command("go", "test", "-run", "^$", "-bench", b[1], "-benchtime", "2000x", "-count", "3", "-benchmem", b[0]).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %s", b[0], err, out)
		}
		for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
			if m := allocations.FindStringSubmatch(lines.Text()); m != nil {
				count, _ := strconv.ParseFloat(m[3], 64)
				name := strings.TrimPrefix(b[0], "./") + " " + m[1] + ", allocations"
				if i := slices.IndexFunc(figures, func(f figure) bool { return f.name == name }); i >= 0 {
					figures[i].value = min(figures[i].value, count)
					continue
				}
				figures = append(figures, figure{name, count})
			}
		}
	}
	return figures, nil
}
