package host_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
)

func init() {
	servers["tells"] = func() {
		serveConn(bufio.NewReader(io.TeeReader(os.Stdin, stderrServer{})), bufio.NewWriter(os.Stdout), true)
	}
}

// stderrServer is a server that says when a call has come that it will not answer.
type stderrServer struct{}

func (stderrServer) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"mute"`)) {
		fmt.Fprintln(os.Stderr, "called")
	}
	return len(p), nil
}

// heard is closed when something comes.
type heard struct {
	once sync.Once
	came chan struct{}
}

func (h *heard) Write(p []byte) (int, error) {
	h.once.Do(func() { close(h.came) })
	return len(p), nil
}

// workerMark is in the command line of a worker, and in that of no other process.
const workerMark = "test-worker"

// workerCommand is the command that makes a worker of this binary.
func workerCommand(t *testing.T) []string {
	t.Helper()
	return append(workerThat(t, "worker"), workerMark)
}

// apart has plugins that are compiled in run apart.
func apart(names ...string) map[string]config.Plugin {
	files := make(map[string]config.Plugin)
	for _, name := range names {
		files[name] = config.Plugin{Name: name, Isolation: config.IsolationProcess}
	}
	return files
}

// workers are the processes of this one that run plugins.
func workers(t *testing.T) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		line, err := os.ReadFile(file)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && bytes.Contains(line, []byte("\x00"+workerMark+"\x00")) && parentOf(pid) == os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

func parentOf(pid int) (parent int) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if _, after, ok := strings.Cut(string(stat), ") "); ok {
		var state string
		fmt.Sscan(after, &state, &parent)
	}
	return parent
}

// The end of a worker is the end of one connection: in the middle of a call it says
// what happened and to which plugin, another connection of that plugin notices
// nothing, and the next call has a new one.
func TestWorkerIsKilled(t *testing.T) {
	called := &heard{came: make(chan struct{})}
	h := newHost(t, host.Config{Files: apart("stdio"), Worker: workerCommand(t), Stderr: called})
	lost := connect(t, h, server("tells"))
	say(t, lost)
	first := workers(t)
	if len(first) != 1 {
		t.Fatalf("the workers are %v", first)
	}
	other := server("modern")
	other.Name = "other"
	kept := connect(t, h, other)
	say(t, kept)

	over := make(chan error)
	go func() {
		_, err := lost.CallTool(t.Context(), "mute", nil)
		over <- err
	}()
	<-called.came
	if err := syscall.Kill(first[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	err := <-over
	if err == nil || !strings.Contains(err.Error(), "plugin stdio: ") || !strings.Contains(err.Error(), "its worker process was killed by signal 9") {
		t.Errorf("the call ended with %v", err)
	}
	if !errors.Is(err, host.ErrUnreachable) {
		t.Errorf("%v is not counted as unreachable", err)
	}
	say(t, kept)
	say(t, lost)
	if now := workers(t); len(now) != 2 || now[0] == first[0] || now[1] == first[0] {
		t.Errorf("the workers are %v, and the first was %d", now, first[0])
	}
	h.Close()
	if left := workers(t); len(left) > 0 {
		t.Errorf("workers are left: %v", left)
	}
}

// A worker has nothing of its host: no variable, and no file but its pipes.
func TestWorkerHasNothing(t *testing.T) {
	t.Setenv("WHARF_TEST_CANARY", "secret")
	h := newHost(t, host.Config{Files: apart("stdio"), Worker: workerCommand(t)})
	say(t, connect(t, h, server("modern")))
	for _, pid := range workers(t) {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || string(env) != serverVariable+"=worker\x00" {
			t.Errorf("its environment is %q, %v", env, err)
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil || !bytes.Contains(status, []byte("NoNewPrivs:\t1")) {
			t.Errorf("it may gain privileges: %v", err)
		}
		_, err = os.Stat("/proc/sys/kernel/seccomp/actions_avail")
		if err == nil && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") { // or there are no seals
			if !bytes.Contains(status, []byte("Seccomp:\t2")) {
				t.Error("it is not sealed")
			}
		}
		limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
		if err != nil || strings.Join(strings.Fields(lineOf(limits, "Max file size")), " ") != "Max file size 0 0 bytes" {
			t.Errorf("it may write files: %v: %s", err, limits)
		}
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, file := range files {
			if to, _ := os.Readlink(file); strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "/sys/fs/cgroup/") {
				t.Errorf("it has %s open", to)
			}
		}
		if err != nil || len(files) == 0 {
			t.Errorf("its files are %v, %v", files, err)
		}
	}
}

// lineOf is the line of a text that begins with some words.
func lineOf(text []byte, begins string) string {
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, begins) {
			return line
		}
	}
	return ""
}

// A program that starts no workers says so, and what to do.
func TestMissingWorker(t *testing.T) {
	h := newHost(t, host.Config{Files: apart("stdio")})
	_, err := h.Connect(t.Context(), server("modern"))
	if !errors.Is(err, host.ErrConfig) || !strings.Contains(host.Hint(err), "[plugins.stdio]") {
		t.Errorf("connecting ended with %v (hint %q)", err, host.Hint(err))
	}
}

// What no worker can run is refused, as in this process.
func TestWorkerRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text.wasm")
	if err := os.WriteFile(file, []byte("this is no module"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Config{Worker: workerCommand(t), Files: map[string]config.Plugin{
		"text": {Name: "text", File: file, Isolation: config.IsolationProcess},
	}})
	entry := server("modern")
	entry.Transport = "text"
	_, err := h.Connect(t.Context(), entry)
	if !errors.Is(err, host.ErrPluginRefused) || !strings.Contains(err.Error(), "plugin text: ") {
		t.Errorf("connecting ended with %v", err)
	}
}
