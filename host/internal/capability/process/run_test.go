//go:build unix

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
)

func init() {
	captest.Helpers["sated"] = func() { os.Stdout.Write(make([]byte, MaxOutput)) }
	captest.Helpers["spilling"] = func() { os.Stdout.Write(make([]byte, MaxOutput+1)) }
	captest.Helpers["graceful"] = func() {
		terms := make(chan os.Signal, 1)
		signal.Notify(terms, syscall.SIGTERM)
		captest.LeashTo(os.Getenv("CAPABILITY_TEST_READY"))
		<-terms
		fmt.Fprint(os.Stderr, "told to end")
	}
	captest.Helpers["chatty"] = func() {
		for i := range 100 {
			fmt.Fprintf(os.Stderr, "line %d\x1b[31m\u202e\r\n\n", i)
		}
		fmt.Print("SECRET")
		os.Exit(7)
	}
}

// long has graces that a test does not live to see the end of.
var long = captest.Patient().Grace

// command is a helper command of the given mode.
func command(mode string, env ...string) Process { return helper(mode, env...).To.(Process) }

func TestRun(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	t.Setenv("LD_PRELOAD", "")
	p := command("env", "DECLARED=yes")
	got, err := p.Run(t.Context())
	if err != nil || got.Code != 0 || got.Stderr != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	env := "\n" + string(got.Stdout) + "\n"
	for name, want := range map[string]bool{"DECLARED": true, "PATH": true, "AWS_SECRET_ACCESS_KEY": false, "LD_PRELOAD": false} {
		if strings.Contains(env, "\n"+name+"=") != want {
			t.Errorf("%s in the environment: want %v", name, want)
		}
	}
	p = Process{Command: "/bin/pwd", Dir: t.TempDir()}
	if got, err := p.Run(t.Context()); err != nil || string(got.Stdout) != p.Dir+"\n" {
		t.Errorf("it runs in %q, %v", got.Stdout, err)
	}
	p = Process{Command: "/bin/echo", Args: []string{"$HOME", "`id`", "a b", ";", ""}}
	if got, err := p.Run(t.Context()); err != nil || string(got.Stdout) != "$HOME `id` a b ; \n" {
		t.Errorf("echo said %q, %v", got.Stdout, err)
	}
}

func TestRunHasNoStdin(t *testing.T) {
	for _, mode := range []string{"echo", "cat", "mute"} {
		if got, err := command(mode).run(t.Context(), time.Hour, long); err != nil || got.Code != 0 || len(got.Stdout) > 0 {
			t.Errorf("%s: %+v, %v", mode, got, err)
		}
	}
}

func TestRunOfACommandThatFails(t *testing.T) {
	got, err := command("chatty").run(t.Context(), time.Hour, long)
	if err != nil || got.Code != 7 || string(got.Stdout) != "SECRET" || got.Stderr != "line 95 [31m\nline 96 [31m\nline 97 [31m\nline 98 [31m\nline 99 [31m" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := command("killself").run(t.Context(), time.Hour, long); err != nil || got.Code != -1 {
		t.Errorf("killed by a signal: %+v, %v", got, err)
	}
	if got, err := command("flood").run(t.Context(), time.Hour, long); err != nil || string(got.Stdout) != "done" {
		t.Errorf("20 MiB on stderr: %+v, %v", got, err)
	}
	for name, p := range map[string]Process{
		"nowhere": {Command: "nowhere-to-be-found"}, "empty": {}, "dir": {Command: "/bin/echo", Dir: "/nowhere"}, "NUL": {Command: "/bin/echo", Args: []string{"a\x00b"}},
	} {
		if got, err := p.Run(t.Context()); err == nil || got != nil {
			t.Errorf("%s: %+v", name, got)
		} else if name == "nowhere" && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
}

func TestRunOfACommandThatSaysTooMuch(t *testing.T) {
	if got, err := command("sated").run(t.Context(), time.Hour, long); err != nil || !bytes.Equal(got.Stdout, make([]byte, MaxOutput)) {
		t.Errorf("all that it may say: %v", err)
	}
	for _, mode := range []string{"spilling", "endless", "escapeY"} {
		leash := captest.NewLeash(t)
		got, err := command(mode, leash.Env()).run(t.Context(), time.Hour, long)
		if got != nil || err == nil || !strings.Contains(err.Error(), "it said more than 65536 bytes") {
			t.Errorf("%s: %v", mode, err)
		}
		if mode == "endless" {
			dies(t, leash.Catch())
		}
	}
}

func TestRunOfACommandThatStays(t *testing.T) {
	for _, mode := range []string{"polite", "stubborn", "deaf"} {
		leash := captest.NewLeash(t)
		got, err := command(mode, leash.Env()).run(t.Context(), 300*time.Millisecond, quick().Grace)
		if got != nil || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not over within 300ms") {
			t.Errorf("%s: %v", mode, err)
		}
		if strings.Contains(err.Error(), "ready") {
			t.Errorf("%s: the error holds what it said: %v", mode, err)
		}
		for _, conn := range leash.Caught() { // none, where 300 ms are not enough to start
			dies(t, conn)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	leash := captest.NewLeash(t)
	why := errors.New("the person left")
	ctx, cancel := context.WithCancelCause(t.Context())
	over := make(chan error)
	go func() {
		_, err := command("deaf", leash.Env()).run(ctx, time.Hour, quick().Grace)
		over <- err
	}()
	conn := leash.Catch()
	cancel(why)
	if err := <-over; !errors.Is(err, why) {
		t.Error(err)
	}
	dies(t, conn)
	if _, err := command("deaf", leash.Env()).Run(ctx); !errors.Is(err, why) {
		t.Errorf("too late: %v", err)
	}
}

func TestRunTellsACommandToEnd(t *testing.T) {
	leash := captest.NewLeash(t)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	go func() {
		_, err := command("graceful", "CAPABILITY_TEST_READY="+leash.Listener.Addr().String()).run(ctx, time.Hour, long)
		over <- err
	}()
	leash.Catch()
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) || !strings.HasSuffix(err.Error(), "its last words: told to end") {
		t.Error(err)
	}
}

// Nothing of its group is left, also when it has ended well by itself; and what
// has left the group holds nothing up.
func TestRunLeavesNothing(t *testing.T) {
	leash := captest.NewLeash(t)
	over := make(chan bool)
	go func() {
		got, err := command("called", leash.Env()).run(t.Context(), time.Hour, quick().Grace)
		if err != nil || got.Code != 0 {
			t.Errorf("%+v, %v", got, err)
		}
		over <- true
	}()
	parent, child := leash.Catch(), leash.Catch()
	if _, err := io.WriteString(parent, "!"); err != nil {
		t.Error(err)
	}
	<-over
	dies(t, child)
	if got, err := command("escape", leash.Env()).run(t.Context(), time.Hour, quick().Grace); err != nil || got.Code != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
