//go:build unix

package process

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
)

func TestInherited(t *testing.T) {
	all := []string{
		"HOME=/home/x", "PATH=/bin", "LC_ALL=C", "LANG=", "TZ=UTC",
		"AWS_SECRET_ACCESS_KEY=s", "LD_PRELOAD=/evil.so", "DYLD_INSERT_LIBRARIES=x", "NODE_OPTIONS=--require x",
		"BASH_FUNC_ls%%=() { evil; }", "USER=() { evil; }", "home=lower", "malformed", "=C:=C:\\",
	}
	want := []string{"HOME=/home/x", "PATH=/bin", "LC_ALL=C", "LANG=", "TZ=UTC"}
	if got := inherited(all, "linux"); !slices.Equal(got, want) {
		t.Errorf("linux: %q", got)
	}
	all = []string{"Path=C:\\bin", "SystemRoot=C:\\Windows", "HOME=x", "NODE_OPTIONS=x", "LC_ALL=C", "=C:=C:\\"}
	want = []string{"Path=C:\\bin", "SystemRoot=C:\\Windows"}
	if got := inherited(all, "windows"); !slices.Equal(got, want) {
		t.Errorf("windows: %q", got)
	}
}

func TestDeclaredReplacesInherited(t *testing.T) {
	t.Setenv("TERM", "dumb")
	env := childEnv([]string{"TERM=xterm", "TOKEN=a=b", "TOKEN=c", "LD_PRELOAD=mine.so"})
	if got := LookupEnv(env, "TERM"); got != "xterm" {
		t.Errorf("TERM is %q", got)
	}
	if got := LookupEnv(env, "TOKEN"); got != "c" {
		t.Errorf("TOKEN is %q", got)
	}
	if got := LookupEnv(env, "LD_PRELOAD"); got != "mine.so" {
		t.Errorf("LD_PRELOAD is %q, and it was declared", got)
	}
	if n := len(slices.DeleteFunc(env, func(e string) bool { return !strings.HasPrefix(e, "T") })); n > 3 {
		t.Errorf("a name is there twice: %q", env)
	}
}

func TestAChildSeesOnlyWhatItMay(t *testing.T) {
	for _, name := range []string{"GITHUB_TOKEN", "LD_LIBRARY_PATH", "NODE_OPTIONS", "DYLD_LIBRARY_PATH"} {
		t.Setenv(name, "leaked")
	}
	t.Setenv("LC_TEST", "passed")
	t.Setenv(NestedEnv, "2")
	table := captest.NewTable(t, captest.Patient(helper("env", "DECLARED=yes")))
	r := captest.NewRecorder()
	captest.Open(t, table, abi.OpenProcess, r)
	r.UntilLast()
	env := strings.Split(string(r.Bytes), "\n")
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		declared := slices.Contains([]string{captest.HelperEnv, "GORACE", "DECLARED", NestedEnv}, name)
		if value == "leaked" || !declared && !isInherited(name, "linux") {
			t.Errorf("the child sees %s", entry)
		}
	}
	for name, want := range map[string]string{"DECLARED": "yes", "LC_TEST": "passed", NestedEnv: "3", "PATH": os.Getenv("PATH")} {
		if got := LookupEnv(env, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestBatchFilesGetNoArgumentThatTheyCouldRun(t *testing.T) {
	for arg, ok := range map[string]bool{
		"plain": true, "two words": true, "C:\\x": true, "-y": true,
		"a&calc": false, "%PATH%": false, `"&calc`: false, "a\nb": false,
	} {
		if err := checkBatch(`C:\npx.CMD`, []string{"fine", arg}); (err == nil) != ok {
			t.Errorf("%q: %v", arg, err)
		}
		if err := checkBatch(`C:\node.exe`, []string{arg}); err != nil {
			t.Errorf("%q to a program: %v", arg, err)
		}
	}
}
