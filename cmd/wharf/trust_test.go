package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/trust"
)

// TestTrustScripts runs the scripts about servers that came with a project.
func TestTrustScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "trust"),
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("XDG_CACHE_HOME", os.Getenv("XDG_CACHE_HOME"))
			return os.Mkdir(filepath.Join(env.WorkDir, "config"), 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": code, "shape": shapeOf, "trusthash": trustHash},
	})
}

// A project cannot push the variables that load code out of a question: not with packages
// that are warned of, and not with other variables.
func TestTheWorstIsAskedFirst(t *testing.T) {
	env := map[string]string{"NODE_OPTIONS": "--require ./x.js", "LD_PRELOAD": "./x.so"}
	args := []string{"exec", "-y"}
	for i := range 14 {
		args = append(args, fmt.Sprint("--package=p", i))
	}
	for i := range 600 {
		env[fmt.Sprint("LD_", i)] = ""
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	entry, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"s": map[string]any{"command": "./npm", "args": append(args, "x"), "env": env}}})
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "npm"), nil, 0o755), os.WriteFile(filepath.Join(dir, ".mcp.json"), entry, 0o644)); err != nil {
		t.Fatal(err)
	}
	p, err := trust.Open(filepath.Join(t.TempDir(), "trust"), nil).Look(t.Context(), config.Discover(dir).Servers[0])
	if err != nil {
		t.Fatal(err)
	}
	a := &app{Terminal: &term.Terminal{}}
	text := a.approvalFacts(p, factBytes)
	for _, want := range []string{"! NODE_OPTIONS changes what programs load or reach", "! LD_PRELOAD changes", "\n│ environment  LD_PRELOAD NODE_OPTIONS LD_0 ", " more warnings; `wharf trust show s` prints all\n", "more; `wharf trust show s` prints all)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// trustHash sets $HASH to that of a server of the project.
func trustHash(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("wharf", "trust", "show", args[0]))
	var shown approvalJSON
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &shown))
	ts.Setenv("HASH", shown.Hash)
}
