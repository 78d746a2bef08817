//go:build unix

package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// How a process ended says whether it may have ended by itself, and is told to people.
func TestHowAProcessEnded(t *testing.T) {
	if leftByItself(nil) {
		t.Error("one that was reaped elsewhere counts as ended by itself")
	}
	for script, want := range map[string]struct {
		itself bool
		told   string
	}{
		"exit 0":        {true, "ended with exit code 0"},
		"exit 7":        {true, "ended with exit code 7"},
		"kill -TERM $$": {true, "was killed by signal 15"},
		"kill -KILL $$": {false, "was killed by signal 9"},
	} {
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Run()
		if got := leftByItself(cmd.ProcessState); got != want.itself {
			t.Errorf("%s: by itself %v", script, got)
		}
		if got := ending(cmd.ProcessState); got != want.told {
			t.Errorf("%s: %s", script, got)
		}
	}
}

// The first lines of a stderr that say something are its last words.
func TestLastWords(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "\n \n": "", "one": " (it said: one)", "\none\n\ntwo\n": " (it said: one; two)", "one\ntwo\nthree\n": " (it said: one; two)",
	} {
		k := &Piped{stderr: &cappedBuffer{full: make(chan struct{})}}
		k.stderr.Write([]byte(text))
		if got := k.stderrStart(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A program of the person is named in the PATH, or by a path that depends on nothing.
func TestCommandLine(t *testing.T) {
	dir := t.TempDir()
	tool, batch := filepath.Join(dir, "tool"), filepath.Join(dir, "tool.cmd")
	for _, path := range []string{tool, batch} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		words []string
		arg   string
		want  []string
	}{
		{nil, "x", nil},
		{[]string{""}, "x", nil},
		{[]string{"./tool"}, "x", nil},
		{[]string{"missing"}, "x", nil},
		{[]string{"tool"}, "x", []string{tool, "x"}},
		{[]string{tool, "-a"}, "x", []string{tool, "-a", "x"}},
		{[]string{"tool", "%s", "-b"}, "x", []string{tool, "x", "-b"}},
		{[]string{"tool", "-a", "%s"}, "x", []string{tool, "-a", "x"}},
		{[]string{"tool.cmd"}, "x", []string{batch, "x"}},
		{[]string{"tool.cmd"}, "x&y", nil},
	} {
		if got := CommandLine(test.words, test.arg, []string{"PATH=" + dir}); !slices.Equal(got, test.want) {
			t.Errorf("%q with %s: %q, want %q", test.words, test.arg, got, test.want)
		}
	}
	if err := Launch(t.Context(), []string{filepath.Join(dir, "missing")}, nil, time.Minute); err == nil {
		t.Error("a program that is not there was launched")
	}
}

// The whole group is asked to end, also what does not listen to its first process.
func TestTheWholeGroupIsAskedToEnd(t *testing.T) {
	told := filepath.Join(t.TempDir(), "told")
	cmd := exec.Command("/bin/sh", "-c", `(trap 'echo yes > "$0.new"; mv "$0.new" "$0"; exit' TERM; echo; while :; do sleep 0.01; done) & trap '' TERM; while :; do wait; sleep 0.01; done`, told)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var g group
	g.prepare(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g.adopt(cmd)
	out.Read(make([]byte, 1)) // the trap is set
	asked := g.terminate()
	deadline := time.Now().Add(10 * time.Second)
	for text := ""; strings.TrimSpace(text) != "yes"; time.Sleep(5 * time.Millisecond) {
		data, _ := os.ReadFile(told)
		if text = string(data); time.Now().After(deadline) {
			t.Error("a process of the group was not asked")
			break
		}
	}
	g.kill()
	over := make(chan struct{})
	g.whenOver(cmd, func() { close(over) })
	<-over
	if g.reap(cmd); !asked {
		t.Error("it says that there is no way to ask")
	}
}
