package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host"
)

// bridged is a client of a bridge, or of serve, that is shared.
type bridged struct {
	t     *testing.T
	in    io.WriteCloser
	out   *bufio.Scanner
	tool  string
	calls int
}

func (u *user) bridge(tool string, args ...string) *bridged {
	u.t.Helper()
	cmd := u.command(args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		u.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	b := &bridged{t: u.t, in: in, out: bufio.NewScanner(out), tool: tool, calls: 1}
	b.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"editor","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if line := b.answer(); !strings.Contains(line, `"protocolVersion":"2025-06-18"`) {
		u.t.Fatal(line)
	}
	return b
}

func (b *bridged) send(lines ...string) { io.WriteString(b.in, strings.Join(lines, "\n")+"\n") }

// call sends a call.
func (b *bridged) call(text string, hold bool) {
	b.calls++
	b.send(`{"jsonrpc":"2.0","id":` + strconv.Itoa(b.calls) + `,"method":"tools/call","params":{"name":"` + b.tool + `","arguments":{"text":"` + text + `","hold":` + strconv.FormatBool(hold) + `}}}`)
}

// answer returns the next answer.
func (b *bridged) answer() string {
	b.t.Helper()
	for b.out.Scan() {
		if line := b.out.Text(); strings.Contains(line, `"id":`) {
			return line
		}
	}
	b.t.Fatal("the bridge has ended")
	return ""
}

// editor returns an editor at the socket of the daemon, which is started if none runs.
func (u *user) editor() *editing {
	u.t.Helper()
	conn, err := net.Dial("unix", strings.TrimSpace(u.must("control", "--socket")))
	if err != nil {
		u.t.Fatal(err)
	}
	e := &editing{t: u.t, conn: conn, in: bufio.NewScanner(conn)}
	e.call("initialize", `{"protocol":[1,1],"client":{"name":"test"}}`)
	return e
}

// editorCall are the params of a call of an editor.
func editorCall(text string, hold bool) string {
	return `{"server":"ledger","name":"note","arguments":{"text":"` + text + `","hold":` + strconv.FormatBool(hold) + `}}`
}

// Bridges share a server, and so do editors. A daemon that is killed costs the calls that wait, which say so. The next
// call finds a new daemon, no call runs twice, and no server of the killed one stays. An editor whose connection has
// ended connects anew.
func TestBridgesOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	clients := []*bridged{
		u.bridge("note", "bridge", "--shared", "ledger"), u.bridge("note", "bridge", "--shared", "ledger"), u.bridge("ledger__note", "serve", "--shared"),
	}
	for i, b := range clients {
		b.call("before "+strconv.Itoa(i), false)
		if line := b.answer(); !strings.Contains(line, "before "+strconv.Itoa(i)) {
			t.Fatal(line)
		}
	}
	if n := len(ledger(t, u.ledger, "start")); n != 1 {
		t.Errorf("the server was started %d times", n)
	}
	e := u.editor()
	e.call("tools/call", editorCall("before", false))
	n, all := max(7, *kills), len(clients)+1 // a server that failed so often would not be tried again for a while
	var took []time.Duration                 // from the kill until all clients are served again
	for round := range n {
		mark := strconv.Itoa(round)
		for i, b := range clients {
			b.call("held "+mark+" "+strconv.Itoa(i), true)
		}
		e.begin("tools/call", editorCall("held "+mark, true))
		for len(ledger(t, u.ledger, "call")) < 2*all*(round+1) {
		}
		pid := u.daemons()[0].PID
		var gone []func()
		for _, start := range ledger(t, u.ledger, "start")[2*round:] {
			gone = append(gone, u.watch(start))
		}
		killed := time.Now()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for e.in.Scan() { // what it was told before the end
		}
		e = u.editor()
		if line := e.call("tools/call", editorCall("after "+mark, false)); !strings.Contains(line, "after "+mark) {
			t.Fatal(line)
		}
		for i, b := range clients {
			if line := b.answer(); !strings.Contains(line, `"error"`) || !strings.Contains(line, "may have acted") {
				t.Fatalf("client %d: %s", i, line)
			}
			b.call("after "+mark+" "+strconv.Itoa(i), false)
			if line := b.answer(); !strings.Contains(line, "after "+mark) {
				t.Fatalf("client %d: %s", i, line)
			}
		}
		took = append(took, time.Since(killed))
		for _, gone := range gone {
			gone()
		}
		if d := u.daemons(); len(d) != 1 || d[0].PID == pid || d[0].Clients != len(clients) || d[0].Editors != 1 {
			t.Fatalf("%+v", d)
		}
	}
	slices.Sort(took)
	late := slices.IndexFunc(append(took, time.Hour), func(d time.Duration) bool { return d > time.Second })
	t.Logf("%d daemons killed; all clients were served again after %v in the median, %v at most, %d times after more than a second", n, took[n/2], took[n-1], n-late)
	calls := ledger(t, u.ledger, "call")
	if slices.Sort(calls); len(calls) != all+2*all*n || len(slices.Compact(calls)) != len(calls) {
		t.Errorf("calls: %q", calls)
	}
	if starts := len(ledger(t, u.ledger, "start")); starts != 2*(1+n) {
		t.Errorf("the servers of bridges and of editors were started %d times", starts)
	}
}

// A command whose daemon is stopped or killed while it waits says so, what may have happened, and what to do.
func TestCommandLosesTheDaemon(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(u *user) error{
		"stopped": func(u *user) error { _, err := u.run("daemon", "stop"); return err },
		"killed":  func(u *user) error { return syscall.Kill(u.daemons()[0].PID, syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t)
			u.must("control", "--socket")
			cmd := u.command("call", "ledger", "note", "text=x", "hold=true")
			var said strings.Builder
			cmd.Stderr = &said
			ended := startUntil(t, cmd, func() bool { return len(ledger(t, u.ledger, "call")) > 0 })
			if err := end(u); err != nil {
				t.Error(err)
			}
			const want = "error: the daemon of Wharf was stopped, through which ledger was used\n" +
				"hint: the server may have received it, and acted on it\n  begin the command anew; without a daemon it starts the server itself\n"
			if <-ended; said.String() != want || cmd.ProcessState.ExitCode() != exit.CodeUnreachable {
				t.Errorf("%d: %s", cmd.ProcessState.ExitCode(), &said)
			}
		})
	}
}

// startUntil starts a command, and returns once a condition holds. The channel is closed when the command has ended. A
// command that ends before the condition holds fails the test.
func startUntil(t *testing.T, cmd *exec.Cmd, holds func() bool) (ended <-chan struct{}) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		cmd.Wait() // its exit code is compared
	}()
	for !holds() {
		select {
		case <-over:
			if !holds() {
				t.Fatalf("%s ended too early: %s", cmd.Args, cmd.Stderr)
			}
		default:
			runtime.Gosched()
		}
	}
	return over
}

// The hint of a command that waits for a task does not say that it can be begun anew: the task has ended with its process,
// or goes on at a server that Wharf does not start.
func TestTaskLosesTheDaemon(t *testing.T) {
	for _, words := range [][]string{{"task", "result", "digger", "t1"}, {"call", "digger", "dig", "--task"}} {
		t.Run(words[0], func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			u.configure("[servers.digger]\ncommand = \"server-tasks\"\n")
			if err := os.WriteFile(filepath.Join(u.folder, "hold"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			u.must("control", "--socket")
			cmd := u.command(words...)
			var said strings.Builder
			cmd.Stderr = &said
			ended := startUntil(t, cmd, func() bool { return isThere(filepath.Join(u.folder, "asked")) })
			u.must("daemon", "stop")
			const want = "error: the daemon of Wharf was stopped, through which digger was used\nhint: digger ended with it, and may have forgotten the task\n"
			if <-ended; said.String() != want || cmd.ProcessState.ExitCode() != exit.CodeUnreachable {
				t.Errorf("%d: %s", cmd.ProcessState.ExitCode(), &said)
			}
		})
	}
	c := client{app: &app{server: "far away"}, entry: host.Server{URL: "https://mcp.example.com"}}
	c.noteTask("t 1")
	if got, want := exit.HintOf(c.app.daemonEnded(true)), "the task may run on: `wharf task result \"far away\" 't 1'` waits for it"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// watch watches the server whose start is in the ledger. gone returns when it has ended.
func (u *user) watch(start string) (gone func()) {
	u.t.Helper()
	word, _, _ := strings.Cut(start, " ")
	pid, err := strconv.Atoi(word)
	if err != nil {
		u.t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		u.t.Fatal(err)
	}
	return func() {
		defer unix.Close(fd)
		for {
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); err != unix.EINTR {
				return
			}
		}
	}
}
