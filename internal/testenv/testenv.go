// Package testenv has what tests of many packages share: the switch for long trials, and
// programs that tests build, which are kept for the next run.
package testenv

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// Long reports whether WHARF_LONG is set, as CI does once. Tests then try all cases of which
// they otherwise try a part.
func Long() bool { return os.Getenv("WHARF_LONG") != "" }

// NeedsLong skips a test that is long as a whole.
func NeedsLong(t testing.TB) {
	t.Helper()
	if !Long() {
		t.Skip("takes long: WHARF_LONG=1 has it run")
	}
}

// Parallel lets n parallel tests run at once, unless the command line sets a number. The
// default is the number of processors, which is too few for tests that wait. Call it from
// TestMain.
func Parallel(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", strconv.Itoa(n))
	}
}

// NeedsWorkers skips a test that starts its own program as another process, if
// WHARF_NO_WORKERS is set. An emulator of another machine may be unable to start programs of
// that machine.
func NeedsWorkers(t testing.TB) {
	t.Helper()
	if os.Getenv("WHARF_NO_WORKERS") != "" {
		t.Skip("starts its own program, which WHARF_NO_WORKERS says cannot be done here")
	}
}

// Part returns cases in the order of their names: all of them if WHARF_LONG is set, and
// otherwise the first of every n.
func Part[V any](cases map[string]V, n int) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for i, name := range slices.Sorted(maps.Keys(cases)) {
			if (Long() || i%n == 0) && !yield(name, cases[name]) {
				return
			}
		}
	}
}

// CodeDir returns the folder that keeps compiled plugins from one run to the next. The
// tests of each package have their own: a host that compiles removes what was not used for
// longest, and keeps less than the plugins of all tests together. CodeDir removes what was not
// used for a week.
func CodeDir() string { return codeDir() }

var codeDir = sync.OnceValue(func() string {
	dir := folder(filepath.Join("code", strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")))
	apart := filepath.Join(dir, "apart")
	entries, _ := os.ReadDir(apart) // before the first compilation the folder does not exist
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.IsDir() && time.Since(info.ModTime()) > 7*24*time.Hour {
			os.RemoveAll(filepath.Join(apart, e.Name()))
		}
	}
	return dir
})

// Plugin builds a Go package, named as for go build, for the sandbox, and returns the path of
// its file. It links again only if the source has changed since the last run. linker has more
// flags for the linker.
func Plugin(t testing.TB, pkg string, linker ...string) string {
	t.Helper()
	return build(t, pkg, "plugin.wasm", []string{"GOOS=wasip1", "GOARCH=wasm"}, "-buildmode=c-shared", strings.Join(append([]string{"-ldflags=-s -w"}, linker...), " "))
}

// Module returns the module that [Plugin] builds.
func Module(t testing.TB, pkg string, linker ...string) []byte {
	t.Helper()
	module, err := os.ReadFile(Plugin(t, pkg, linker...))
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// Program builds a Go program for this machine as Plugin builds one for the sandbox, and
// returns its file.
func Program(t testing.TB, pkg string) string {
	t.Helper()
	return build(t, pkg, filepath.Base(pkg)+".exe", nil, "-ldflags=-s -w")
}

// built has what this process has built, by the arguments of go.
var built sync.Map

func build(t testing.TB, pkg, name string, environ []string, flags ...string) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	flags = append(flags, "-trimpath", "-buildvcs=false")
	key := sha256.Sum256(fmt.Append(nil, here, pkg, name, flags))
	once, _ := built.LoadOrStore(key, sync.OnceValues(func() (string, error) {
		file := filepath.Join(folder(hex.EncodeToString(key[:8])), name)
		lock := flock.New(file + ".lock") // go build writes over a file that others read
		if err := lock.Lock(); err != nil {
			return "", err
		}
		defer lock.Close()
		cmd := exec.Command("go", append(append([]string{"build", "-o", file}, flags...), pkg)...)
		cmd.Env = append(append(os.Environ(), "GOFLAGS="), environ...)
		if said, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %s", err, said)
		}
		return file, nil
	}))
	file, err := once.(func() (string, error))()
	if err != nil {
		t.Fatalf("build %s: %v", pkg, err)
	}
	return file
}

// folder returns a private folder that stays, for a purpose. If the user has no cache, it is
// a folder for temporary files. If it cannot be made, its first use fails.
func folder(purpose string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "wharf-test", purpose)
	os.MkdirAll(dir, 0o700)
	return dir
}

// Source returns the folder with the source of a published Go module, which go downloads
// where it has not been before. If go cannot download it, the test is skipped.
func Source(t testing.TB, module, version string) (dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module+"@"+version)
	cmd.Dir = t.TempDir() // outside of this module, which does not need it
	out, err := cmd.Output()
	var got struct{ Dir string }
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil {
		t.Skipf("%s %s cannot be downloaded: %v", module, version, err)
	}
	return got.Dir
}
