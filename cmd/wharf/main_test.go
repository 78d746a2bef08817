package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

var update = flag.Bool("update", false, "write what scripts compare with cmp anew")

// TestMain makes the test binary play every command that scripts use: wharf
// itself, and servers that misbehave.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workerCommand {
		main() // wharf, started by itself
	}
	testscript.Main(suite{m}, map[string]func(){
		"wharf":            main,
		"editor":           bridgingEditor,
		"signals":          signals,
		"visits":           visits,
		"server-asks":      serverAsks,
		"server-breaks":    serverBreaks,
		"server-exits":     serverExits,
		"server-large":     serverLarge,
		"server-logs":      serverLogs,
		"server-needs":     serverNeeds,
		"server-talks":     serverTalks,
		"server-writes":    serverWrites,
		"server-silent":    serverSilent,
		"server-banner":    serverBanner,
		"server-garbage":   serverGarbage,
		"server-prints":    serverPrints,
		"server-flood":     serverFlood,
		"server-stubborn":  serverStubborn,
		"server-hangs":     serverHangs,
		"server-steers":    serverSteers,
		"server-wrong-ids": serverWrongIDs,
		"server-pictures":  serverPictures,
		"server-variables": serverVariables,
		"server-counts":    serverCounts,
		"server-ledger":    serverLedger,
		"server-tasks":     serverTasks,
	})
}

// suite runs the tests with a cache that is not the user's, so that each plugin is
// compiled once, and fails when goroutines are left behind.
type suite struct{ tests *testing.M }

func (s suite) Run() int {
	os.Setenv("XDG_CACHE_HOME", testenv.CodeDir())
	if raced {
		if err := compile(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	testenv.Parallel(4)
	code := s.tests.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// raced says that the race detector is on.
var raced bool

// compile fills the cache with the plugins that wharf comes with. Under the race
// detector each takes half a minute of a processor, and of that a server may not
// take much more to start: there is no time for it where several tests run.
func compile() error {
	for name := range plugins.Builtin() {
		if out, err := exec.Command("wharf", "plugin", "inspect", "--timeout", "10m", name).CombinedOutput(); err != nil {
			return fmt.Errorf("compile %s: %w: %s", name, err, out)
		}
	}
	return nil
}

// TestScripts runs the commands of testdata/script.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, filepath.Join("testdata", "script"), nil)
}

func runScripts(t *testing.T, dir string, vars []string) {
	t.Helper()
	plugin, err := filepath.Abs(filepath.Join("..", "..", "plugins", "stdio", "stdio.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           dir,
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, vars...)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("XDG_CACHE_HOME", os.Getenv("XDG_CACHE_HOME"))
			env.Setenv("STDIO_WASM", plugin)
			env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
			env.Setenv("SOCKET_WASM", filepath.Join(filepath.Dir(plugin), "..", "..", "examples", "transport-socket-c", "socket.wasm"))
			env.Setenv("CORP_SSO_WASM", filepath.Join(filepath.Dir(plugin), "..", "..", "examples", "auth-corp-sso", "corp-sso.wasm"))
			env.Setenv("PATHS_WASM", filepath.Join(filepath.Dir(plugin), "..", "..", "examples", "policy-paths-c", "paths.wasm"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "long" {
				return false, fmt.Errorf("no condition is called %s", name)
			}
			return testenv.Long(), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"another":   another,
			"bundle":    bundleServer,
			"code":      code,
			"digest":    digest,
			"follow":    followHint,
			"http":      httpAnswer,
			"large":     large,
			"hinted":    hintedCommand,
			"gone":      gone,
			"guarded":   guarded,
			"keyof":     keyOf,
			"oneline":   oneLine,
			"plainsite": plainSite,
			"registry":  serveRegistry,
			"restate":   restate,
			"serve":     serveHTTP,
			"shape":     shapeOf,
			"sign":      signFile,
			"site":      site,
		},
	})
}

// code runs a command as exec does, and compares its exit code: code 2 wharf x.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND…")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// gone checks that the process whose id is in a file is no more.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	if alive(pid) != neg {
		ts.Fatalf("process %d: alive is %v", pid, !neg)
	}
}

// oneLine checks that a file is exactly one line.
func oneLine(ts *testscript.TestScript, _ bool, args []string) {
	if text := ts.ReadFile(args[0]); strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		ts.Fatalf("%s is not one line: %q", args[0], text)
	}
}

// Short flags in one word are apart where the last takes the next word, before the command alone.
func TestSplitShort(t *testing.T) {
	root := newRoot(&app{Terminal: &term.Terminal{}})
	for line, want := range map[string]string{
		"-qo text call -qo x":      "-q -o text call -qo x",
		"-qotext call":             "-qotext call",
		"-o text -qo json call":    "-o text -q -o json call",
		"--config -qo call":        "--config -qo call",
		"--config=f -qo text call": "--config=f -q -o text call",
		"-qe A=1 call x -- y":      "-q -e A=1 call x -- y",
		"-zo text":                 "-zo text",
		"- -qo":                    "- -qo",
		"-- -qo text":              "-- -qo text",
		"-qo":                      "-q -o",
		"call demo -qo text":       "call demo -qo text",
	} {
		if got := strings.Join(splitShort(root, strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %s; want %s", line, got, want)
		}
	}
}
