package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
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
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": code, "trusthash": trustHash},
	})
}

// trustHash sets $HASH to that of a server of the project.
func trustHash(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("wharf", "trust", "show", args[0]))
	var shown approvalJSON
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &shown))
	ts.Setenv("HASH", shown.Hash)
}
