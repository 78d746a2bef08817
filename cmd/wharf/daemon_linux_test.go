package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/daemon"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// user is a user with a daemon, and a server that writes what happens to a file.
type user struct {
	t      *testing.T
	folder string   // the working folder
	env    []string // of all programs
	ledger string
	config string
}

func newUser(t *testing.T) *user {
	t.Helper()
	dir, err := os.MkdirTemp("", "usr") // of t.TempDir the path would be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	u := &user{t: t, folder: filepath.Join(dir, "work"), ledger: filepath.Join(dir, "ledger"), config: filepath.Join(dir, "config", "wharf", "wharf.toml")}
	u.env = append(os.Environ(), "HOME="+dir, "XDG_RUNTIME_DIR="+filepath.Join(dir, "run"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"),
		"XDG_DATA_HOME="+filepath.Join(dir, "data"), "LEDGER=one")
	for _, dir := range []string{u.folder, filepath.Dir(u.config), filepath.Join(dir, "run")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	u.configure("")
	t.Cleanup(func() {
		u.run("daemon", "stop", "--all")
		os.RemoveAll(dir)
	})
	return u
}

// configure writes the configuration, with more in the entry of the server.
func (u *user) configure(more string) {
	u.t.Helper()
	text := "[servers.ledger]\ncommand = \"server-ledger\"\nargs = [" + strconv.Quote(u.ledger) + "]\nenv = { LEDGER = \"${LEDGER}\" }\n" + more
	if err := os.WriteFile(u.config, []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
}

func (u *user) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(u.t.Context(), "wharf", args...)
	cmd.Dir, cmd.Env = u.folder, u.env
	return cmd
}

// run runs wharf, and returns what it prints.
func (u *user) run(args ...string) (stdout string, err error) {
	cmd := exec.Command("wharf", args...)
	cmd.Dir, cmd.Env = u.folder, u.env
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err = cmd.Run(); err != nil {
		err = errors.New(err.Error() + ": " + said.String())
	}
	return out.String(), err
}

// must is run for a command that succeeds.
func (u *user) must(args ...string) string {
	u.t.Helper()
	out, err := u.run(args...)
	if err != nil {
		u.t.Fatalf("wharf %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// starts returns how often the server was started, and forgets it.
func (u *user) starts() int {
	u.t.Helper()
	n := len(ledger(u.t, u.ledger, "start"))
	os.Truncate(u.ledger, 0)
	return n
}

// daemons returns the daemons that run.
func (u *user) daemons() (all []daemon.State) {
	u.t.Helper()
	if err := json.Unmarshal([]byte(u.must("daemon", "status", "--json")), &all); err != nil {
		u.t.Fatal(err)
	}
	return all
}

// A command uses the server of a daemon that runs, where it would start the same; else it starts its own.
func TestCommandsJoinTheDaemon(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	call := []string{"call", "ledger", "note", "text=x"}
	alone := u.must(call...)
	if n := u.starts(); n != 1 || len(u.daemons()) != 0 {
		t.Fatalf("without a daemon: %d starts, %d daemons", n, len(u.daemons()))
	}
	socket := strings.TrimSpace(u.must("control", "--socket"))
	if joined := u.must(call...); joined != alone {
		t.Errorf("a call prints\n%s, and alone\n%s", joined, alone)
	}
	u.must("tools", "ledger")
	u.must(call...)
	if n := u.starts(); n != 1 {
		t.Errorf("three commands have started it %d times", n)
	}
	if d := u.daemons(); len(d) != 1 || d[0].Socket != socket || d[0].Config != u.config || d[0].Clients != 0 {
		t.Errorf("%+v", d)
	}

	for name, vary := range map[string]func(){
		"--alone":            func() { u.must(append(call, "--alone")...) },
		"--stderr":           func() { u.must(append(call, "--stderr")...) },
		"another variable":   func() { u.env = append(u.env, "LEDGER=two"); u.must(call...); u.env = append(u.env, "LEDGER=one") },
		"another PATH":       func() { u.env = append(u.env, "PATH="+os.Getenv("PATH")+":/nowhere"); u.must(call...) },
		"no entry":           func() { u.must("call", "note", "text=x", "--", "server-ledger", u.ledger) },
		"ping":               func() { u.must("ping", "ledger") },
		"another file":       func() { u.must(append(call, "--config", u.other())...) },
		"a relative --root":  func() { u.must(append(call, "--root", ".")...) },
		"a trace is written": func() { u.must(append(call, "--trace", filepath.Join(u.folder, "trace"))...) },
	} {
		before := u.env
		vary()
		u.env = before
		if n := u.starts(); n != 1 {
			t.Errorf("%s: %d starts", name, n)
		}
	}

	u.folder = t.TempDir() // a command without a dir runs there
	u.must(call...)
	u.must(call...)
	if where := ledger(t, u.ledger, "start"); len(where) != 1 || !strings.Contains(where[0], " in "+u.folder+" ") {
		t.Errorf("in another folder: %q", where)
	}
	u.configure("dir = " + strconv.Quote(t.TempDir()) + "\n")
	u.starts()
	u.must(call...)
	if n := u.starts(); n != 1 {
		t.Errorf("with another entry: %d starts", n)
	}
	if out := u.must("daemon", "logs"); strings.Count(out, "listens at") != 1 {
		t.Errorf("the log: %s", out)
	}
	u.must("daemon", "stop")
	if _, err := os.Lstat(socket); err == nil || len(u.daemons()) != 0 {
		t.Error("the daemon is still there")
	}
	u.must(call...)
	if n := u.starts(); n != 1 {
		t.Errorf("after the end of the daemon: %d starts", n)
	}
}

// A command that begins or lists tasks says when the process that keeps them ends.
func TestTasksOfTheDaemon(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.configure("[servers.tasks]\ncommand = \"server-tasks\"\n")
	says := func(args ...string) string {
		out, err := u.command(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		return string(out)
	}
	for _, ends := range []string{"with this command", "with the daemon, which keeps it for a task, for 24 hours at most"} {
		if got := says("call", "tasks", "dig", "--detach"); !strings.Contains(got, "tasks ends "+ends+", and may forget the task") {
			t.Error(got)
		}
		if got := says("task", "list", "tasks", "-o", "text"); !strings.Contains(got, "tasks ends "+ends+", and may forget them") {
			t.Error(got)
		}
		u.must("control", "--socket")
	}
}

// A call that is lost in the daemon ends the command as one that is lost without it.
func TestLostCallInTheDaemon(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	lost := func() (int, errorDetails) {
		cmd := u.command("call", "ledger", "note", "text=x", "quit=true", "--json")
		var said bytes.Buffer
		cmd.Stderr = &said
		cmd.Run() // its exit code is compared
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		var last struct{ Error errorDetails }
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
			t.Fatalf("%s: %v", said.String(), err)
		}
		return cmd.ProcessState.ExitCode(), last.Error
	}
	code, alone := lost()
	if code != exit.CodeUnreachable || alone.Sent != "maybe" || u.starts() != 1 {
		t.Fatalf("without a daemon: exit code %d, %+v", code, alone)
	}
	u.must("control", "--socket")
	u.must("call", "ledger", "note", "text=x")
	code, joined := lost()
	if code != exit.CodeUnreachable || joined.Code != alone.Code || joined.Sent != alone.Sent || joined.Hint != alone.Hint || joined.RPCCode != nil {
		t.Errorf("exit code %d, %+v; without a daemon %+v", code, joined, alone)
	}
	if calls := ledger(t, u.ledger, "call"); len(calls) != 2 { // the daemon may have started the server again by now
		t.Errorf("its calls: %q", calls)
	}
}

// other returns another file of the same content.
func (u *user) other() string {
	text, err := os.ReadFile(u.config)
	if err != nil {
		u.t.Fatal(err)
	}
	path := filepath.Join(u.folder, "other.toml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		u.t.Fatal(err)
	}
	return path
}

// stopped calls do while the daemon is stopped, as a process that hangs.
func (u *user) stopped(do func()) {
	u.t.Helper()
	pid := u.daemons()[0].PID
	syscall.Kill(pid, syscall.SIGSTOP)
	defer syscall.Kill(pid, syscall.SIGCONT)
	do()
}

// Of 20 editors that begin at once, one starts the daemon, and all share its servers.
func TestEditorsShareADaemon(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	const editors = 20
	sockets := make([]string, editors)
	var running sync.WaitGroup
	for i := range editors {
		running.Go(func() {
			out, err := u.run("control", "--socket")
			if err != nil {
				t.Error(err)
			}
			sockets[i] = strings.TrimSpace(out)
		})
	}
	running.Wait()
	if t.Failed() {
		t.FailNow()
	}
	if len(slices.Compact(slices.Clone(sockets))) != 1 {
		t.Fatalf("%q", sockets)
	}
	conns := make([]net.Conn, editors)
	for i := range editors {
		running.Go(func() {
			conn, err := net.Dial("unix", sockets[0])
			if err != nil {
				t.Error(err)
				return
			}
			conns[i] = conn
			callThroughControl(t, conn, i)
		})
	}
	running.Wait()
	if n := u.starts(); n != 1 {
		t.Errorf("the server was started %d times", n)
	}
	if d := u.daemons(); len(d) != 1 || d[0].Editors != editors {
		t.Errorf("%+v", d)
	}
	for _, conn := range conns {
		conn.Close()
	}
	shared := u.command("control", "--shared")
	shared.Stdin = strings.NewReader(controlCall)
	if out, err := shared.CombinedOutput(); err != nil || bytes.Count(out, []byte("\n")) != 2 || !bytes.Contains(out, []byte(`"text":"x"`)) {
		t.Errorf("%s, %v", out, err)
	}
	if n := u.starts(); n != 0 {
		t.Errorf("the server was started %d times more", n)
	}
}

// controlCall is what an editor sends that calls a tool.
const controlCall = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":[1,1],"client":{"name":"test"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"server":"ledger","name":"note","arguments":{"text":"x"}}}
`

// callThroughControl calls a tool as an editor does. Every other one frames by Content-Length.
func callThroughControl(t *testing.T, conn net.Conn, n int) {
	said := controlCall
	if n%2 > 0 {
		said = ""
		for message := range strings.Lines(controlCall) {
			message = strings.TrimSpace(message)
			said += "Content-Length: " + strconv.Itoa(len(message)) + "\r\n\r\n" + message
		}
	}
	io.WriteString(conn, said)
	var heard strings.Builder
	for in := make([]byte, 1<<10); !strings.Contains(heard.String(), `"text":"x"`); {
		k, err := conn.Read(in)
		if heard.Write(in[:k]); err != nil {
			t.Errorf("editor %d: %v after %q", n, err, heard.String())
			return
		}
	}
}

// A daemon that was run by hand logs to its own stderr, and says of no file that it is its log.
func TestDaemonByHandNamesNoLog(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	run := u.command("daemon", "run", "--idle", "0")
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if all := u.daemons(); len(all) != 1 || all[0].Log != "" {
		t.Errorf("%+v", all)
	}
	if out, err := u.run("daemon", "logs"); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("error: the daemon (process %d) logs to its own stderr\nhint: look where `wharf daemon run` was started", run.Process.Pid)) {
		t.Error(out, err)
	}
	u.must("daemon", "stop")
	if err := run.Wait(); err != nil {
		t.Error(err)
	}
}

// A daemon that is not used ends, with its servers.
func TestDaemonEndsUnused(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	run := u.command("daemon", "run", "--idle", "1ms")
	out, err := run.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("no client uses the daemon")) {
		t.Errorf("%s, %v", out, err)
	}
	if second, err := u.run("daemon", "run", "--idle", "-1s"); err == nil || !strings.Contains(err.Error(), "not negative") {
		t.Error(second, err)
	}
	if err := os.WriteFile(u.config, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := u.run("bridge", "--shared", "ledger"); err == nil || !strings.Contains(err.Error(), "configuration: ") {
		t.Error(out, err)
	}
}
