package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// userCache is where the user has their caches. TestMain gives the tests another place.
var userCache = os.Getenv("XDG_CACHE_HOME")

// TestNewPluginsInGo runs the scripts that build plugins, with the caches of the one
// who runs them: what they hold is all that is needed.
func TestNewPluginsInGo(t *testing.T) {
	t.Parallel()
	if testing.Short() || raced { // a raced command compiles a module for most of the minute that it has
		t.Skip("builds plugins, which takes a while")
	}
	names := []string{"GOCACHE", "GOMODCACHE", "GOPATH"}
	cmd := exec.Command("go", append([]string{"env"}, names...)...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+userCache)
	said, err := cmd.Output()
	if err != nil {
		t.Skipf("go env: %v", err)
	}
	vars := []string{"GOPROXY=off", "GOFLAGS="}
	for i, value := range strings.Split(strings.TrimSpace(string(said)), "\n") {
		vars = append(vars, names[i]+"="+value)
	}
	runScripts(t, filepath.Join("testdata", "build"), vars)
}
