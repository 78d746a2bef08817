package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/demo"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
)

// signals is a command that is told to leave and takes its time.
func signals() {
	mode := term.Standard().Mode // nil where stdin is no terminal
	ctx, i := exit.OnInterrupt(context.Background(), mode.Leave)
	defer i.Stop()
	if mode != nil {
		mode.Enter()
	}
	fmt.Println("ready, ignoring SIGHUP:", signal.Ignored(syscall.SIGHUP))
	<-ctx.Done()
	fmt.Println(context.Cause(ctx))
	<-i.Hurried().Done()
	fmt.Println("hurried")
	select {}
}

// process is a command under test, whose output can be waited for.
type process struct {
	t *testing.T
	*exec.Cmd
	lines *bufio.Scanner
}

// start starts a command and reads one of its streams, which choose picks.
func start(t *testing.T, choose func(*exec.Cmd) (io.ReadCloser, error), name string, args ...string) *process {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no signals to send")
	}
	command := exec.CommandContext(t.Context(), name, args...)
	command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
	stream, err := choose(command)
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	return &process{t, command, bufio.NewScanner(stream)}
}

// await reads lines until one contains text, and returns that line.
func (p *process) await(text string) string {
	p.t.Helper()
	for p.lines.Scan() {
		if strings.Contains(p.lines.Text(), text) {
			return p.lines.Text()
		}
	}
	p.t.Fatalf("the output ended without %q", text)
	return ""
}

func (p *process) interrupt() { p.signal(os.Interrupt) }

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) wantExit(code int) {
	p.t.Helper()
	for p.lines.Scan() {
	}
	p.Wait() // the exit code tells
	if got := p.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code %d, want %d", got, code)
	}
}

// Whether the person or the terminal is gone, the server is told and ended.
func TestFirstSignalCancelsTheCall(t *testing.T) {
	hearHangups(t)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		p := start(t, (*exec.Cmd).StderrPipe, "wharf", "call", "hang", "--stderr", "--", "server-hangs")
		called := p.await("called in process ")
		p.signal(s)
		p.await("cancelled") // the server was told
		p.wantExit(exit.CodeInterrupted)
		pid, err := strconv.Atoi(called[strings.LastIndex(called, " ")+1:])
		if err != nil || alive(pid) {
			t.Errorf("%v: %q: the server is left behind (%v)", s, called, err)
		}
	}
}

// A watch that goes on until it is ended has ended well at a SIGTERM, and one that has not all its lines has not.
func TestWatchEndsAtASignal(t *testing.T) {
	for count, code := range map[string]int{"0": exit.CodeOK, "1000": exit.CodeInterrupted} {
		p := start(t, (*exec.Cmd).StdoutPipe, "wharf", "watch", "demo", "demo://clock", "--count", count)
		p.await("demo://clock")
		p.signal(syscall.SIGTERM)
		p.wantExit(code)
	}
}

// hearHangups makes sure that the commands of a test do not ignore SIGHUP, as they
// would if the test was started by nohup.
func hearHangups(t *testing.T) {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(heard) })
}

// What nohup has started goes on when its terminal closes.
func TestIgnoredHangup(t *testing.T) {
	p := start(t, (*exec.Cmd).StdoutPipe, "sh", "-c", "trap '' HUP; exec signals")
	p.await("ready, ignoring SIGHUP: true")
	p.interrupt()
	p.await("interrupted")
	p.interrupt()
	p.await("hurried")
	p.interrupt()
	p.wantExit(exit.CodeInterrupted)
}

// A reader that goes away, as head does, ends the program as it ends others:
// without a word, and with nothing left behind.
func TestBrokenPipe(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	defer writer.Close()
	var stderr strings.Builder
	command := exec.CommandContext(t.Context(), "wharf", "version")
	command.Stdout, command.Stderr = writer, &stderr
	command.Run() // its exit code is looked at below
	if code := command.ProcessState.ExitCode(); code != exit.CodeUnread || stderr.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}

// A reader that leaves between two lines ends a command that follows something: the next line may be hours away.
func TestFollowersEndUnread(t *testing.T) {
	config := filepath.Join(t.TempDir(), "wharf.toml")
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(config, fmt.Appendf(nil, "[audit]\nfile = %q\n", log), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, follower := range []struct {
		line string // after which the reader leaves
		args []string
	}{
		{`"tools":`, []string{"servers", "--watch"}},
		{"", []string{"watch", "demo", "--count", "1"}},
		{"", []string{"audit", "--follow", "--config", config}},
	} {
		var stdout io.ReadCloser
		p := start(t, func(c *exec.Cmd) (_ io.ReadCloser, err error) {
			stdout, err = c.StdoutPipe()
			return stdout, err
		}, "wharf", follower.args...)
		if follower.line != "" {
			p.await(follower.line)
		}
		stdout.Close()
		over := time.AfterFunc(20*time.Second, func() { p.Process.Kill() })
		p.Wait()
		if !over.Stop() {
			t.Errorf("%v: it went on", follower.args)
		} else if code := p.ProcessState.ExitCode(); code != exit.CodeUnread {
			t.Errorf("%v: code %d", follower.args, code)
		}
	}
}

// A client tells the demo server to end when it is slow to notice the end of its
// stdin. That is no error, and prints nothing on stderr.
func TestDemoEndsWithoutAWord(t *testing.T) {
	var stdin io.Writer
	var stderr strings.Builder
	p := start(t, func(c *exec.Cmd) (stdout io.ReadCloser, err error) {
		c.Stderr = &stderr
		if stdin, err = c.StdinPipe(); err != nil {
			return nil, err
		}
		return c.StdoutPipe()
	}, "wharf", demo.Command)
	io.WriteString(stdin, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	p.await(`"id":1`)
	p.signal(syscall.SIGTERM)
	p.wantExit(exit.CodeOK)
	if stderr.Len() > 0 {
		t.Errorf("stderr %q", stderr.String())
	}
}

// A program that does not end by itself ends after a second interrupt, with no third.
func TestSecondInterruptLeavesSoon(t *testing.T) {
	t.Parallel()
	p := start(t, (*exec.Cmd).StdoutPipe, "signals")
	p.await("ready")
	p.interrupt()
	p.await("interrupted")
	p.interrupt()
	p.wantExit(exit.CodeInterrupted)
}

// A second interrupt ends also a server that stays when it is asked to leave.
func TestSecondInterruptLeavesNoServer(t *testing.T) {
	p := start(t, (*exec.Cmd).StderrPipe, "wharf", "call", "stay", "--stderr", "--", "server-hangs")
	called := p.await("called in process ")
	p.interrupt()
	p.await("cancelled")
	p.interrupt()
	p.wantExit(exit.CodeInterrupted)
	pid, err := strconv.Atoi(called[strings.LastIndex(called, " ")+1:])
	if err != nil || alive(pid) {
		t.Errorf("%q: the server is left behind (%v)", called, err)
	}
}

// A shell that waits for the next line of a script ends at the first signal.
func TestShellEndsAtASignal(t *testing.T) {
	hearHangups(t)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		var lines io.WriteCloser
		p := start(t, func(c *exec.Cmd) (_ io.ReadCloser, err error) {
			if lines, err = c.StdinPipe(); err != nil {
				return nil, err
			}
			return c.StdoutPipe()
		}, "wharf", "shell", "demo", "--output", "text")
		fmt.Fprintln(lines, "echo message=ready")
		p.await("ready")
		p.signal(s)
		over := time.AfterFunc(20*time.Second, func() { p.Process.Kill() })
		p.Wait()
		if !over.Stop() {
			t.Errorf("%v: it went on", s)
		} else if code := p.ProcessState.ExitCode(); code != exit.CodeInterrupted {
			t.Errorf("%v: code %d", s, code)
		}
		lines.Close()
	}
}
