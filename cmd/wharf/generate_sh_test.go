package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// A full disk is no mistake of the command line; a file that may not be made is.
func TestExitOfAGeneratedFile(t *testing.T) {
	for op, code := range map[string]int{"write": exit.CodeInternal, "close": exit.CodeInternal, "open": exit.CodeUsage} {
		err := errors.Join(&fs.PathError{Op: op, Path: "c.ts.new", Err: errors.New("no space left on device")})
		if got := exit.KindOf(t.Context(), unwritten(err)).Code; got != code {
			t.Errorf("%s: exit code %d, want %d", op, got, code)
		}
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		err := unwritten(replaceGenerated(t.Context(), "/dev/full", []byte("x"), 0o666))
		if exit.KindOf(t.Context(), err).Name != "output" || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("/dev/full: %v", err)
		}
	}
}

// TestProgramRunsNothingOfAServer: what a server says is shown by the program, and no part of
// it is run.
func TestProgramRunsNothingOfAServer(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	hostile := "'; echo INJECTED; $(echo INJECTED) `echo INJECTED` \\\n\x00\x1b[31m\u202e%s\nEOF\necho INJECTED\n"
	c := &client{app: &app{server: "o'clock"}, entry: host.Server{}}
	text, _ := c.program([]mcp.Tool{{Name: hostile, Description: hostile}, {Name: "plain", Title: hostile, InputSchema: []byte(`{"properties":{"'; echo INJECTED;'":{}}}`)}})
	cmd := exec.CommandContext(t.Context(), sh, "-c", string(text), "dock")
	cmd.Env = []string{"PATH=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, text)
	}
	for row := range strings.Lines(string(out)) {
		if strings.TrimSpace(row) == "INJECTED" || strings.ContainsAny(row, "\x1b\x00\u202e") {
			t.Errorf("the program wrote %q", row)
		}
	}
	if !strings.HasSuffix(string(text), "\nexec wharf call 'o'\\''clock' \"$@\"\n") {
		t.Errorf("its last line is not the call:\n%s", text)
	}
}

// A tool that is called help can be called.
func TestProgramOfAToolNamedHelp(t *testing.T) {
	c := &client{app: &app{server: "dock"}, entry: host.Server{}}
	for name, want := range map[string]string{"help": "\n'' | -h | --help)", "other": "\n'' | -h | --help | help)"} {
		if text, err := c.program([]mcp.Tool{{Name: name}}); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// What a program does not have, or not from any folder, is told.
func TestLacksAnywhere(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"srv.js", "notes.txt"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	adHoc, configured := &app{adHoc: true}, &app{}
	for _, tt := range []struct {
		app   *app
		entry host.Server
		want  []string // how each begins
	}{
		{adHoc, host.Server{Command: "node", Args: []string{"srv.js", "--port", "3"}}, nil},
		{adHoc, host.Server{Command: "node", Args: []string{"./srv.js", "notes.txt"}}, []string{"notes.txt is looked for in the folder that it is started in"}},
		{adHoc, host.Server{Command: "x", Env: map[string]string{"B": "s3cret", "A": "1"}}, []string{"the program holds no values of variables: it takes A, B from"}},
		{adHoc, host.Server{Command: "x", Args: []string{"--api-key=s3cret"}}, []string{"the value of api-key looks like a secret"}},
		{&app{address: "http://h/", flags: flags{headers: []string{"A: s3cret"}}}, host.Server{URL: "http://h/"}, []string{"the program holds no headers"}},
		{&app{address: "http://h/"}, host.Server{URL: "http://h/"}, nil},
		{configured, host.Server{Name: "x", Command: "node", Args: []string{"srv.js"}}, []string{"srv.js of the entry of x is looked for in the folder"}},
		{configured, host.Server{Name: "x", Command: "node", Project: &config.Project{Folder: "/p"}}, []string{"x is a server of the project in /p"}},
		{configured, host.Server{Name: "x", Command: "npx"}, nil},
	} {
		got := tt.app.lacksAnywhere("the program", tt.entry)
		if !slices.EqualFunc(got, tt.want, strings.HasPrefix) || strings.Contains(strings.Join(got, ""), "s3cret") {
			t.Errorf("%+v: %q, want %q", tt.entry, got, tt.want)
		}
	}
}
