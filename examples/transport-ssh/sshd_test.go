//go:build !wasip1

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/plugins"
)

// The tests below are held against a real sshd, which starts this test binary as
// its subsystems: the first argument says which.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "serve-mcp":
			serve()
			return
		case "serve-crash":
			os.Exit(7)
		}
	}
	os.Exit(m.Run())
}

// serve is a server that was built with the official SDK.
func serve() {
	type input struct {
		Message string `json:"message"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "far", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "says it again"}, func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Message}}}, nil, nil
	})
	s.Run(context.Background(), &mcp.StdioTransport{})
}

// port is a real sshd with keys of its own, on a port of this machine.
type port struct {
	dir   string
	addr  string // host:port
	cmd   *exec.Cmd
	ended <-chan struct{} // cmd is gone
}

// newPort starts an sshd as whoever runs the test.
func newPort(t *testing.T) *port {
	t.Helper()
	p := &port{dir: t.TempDir()}
	for _, key := range []string{"host", "user", "stranger"} {
		p.run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", p.file(key))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.addr = l.Addr().String()
	l.Close()
	_, number, _ := net.SplitHostPort(p.addr)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, "sshd_config", fmt.Sprintf(`Port %s
ListenAddress 127.0.0.1
HostKey %s
AuthorizedKeysFile %s
StrictModes no
UsePAM no
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
Subsystem mcp %s serve-mcp
Subsystem crash %s serve-crash
Subsystem nothing %s
`, number, p.file("host"), p.file("user.pub"), self, self, p.file("nothing")))
	p.know(t, "known", "host.pub")
	p.know(t, "changed", "stranger.pub")
	p.write(t, "empty", "")
	p.start(t)
	return p
}

func (p *port) file(name string) string { return filepath.Join(p.dir, name) }

func (p *port) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(p.file(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// know writes a file of known hosts, in which p has a key.
func (p *port) know(t *testing.T, name, key string) {
	t.Helper()
	public, err := os.ReadFile(p.file(key))
	if err != nil {
		t.Fatal(err)
	}
	host, number, _ := net.SplitHostPort(p.addr)
	p.write(t, name, fmt.Sprintf("[%s]:%s %s", host, number, public))
}

func (p *port) run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
}

// start returns when sshd listens, which it says.
func (p *port) start(t *testing.T) {
	t.Helper()
	p.cmd = exec.Command(sshd(t), "-D", "-e", "-f", p.file("sshd_config"))
	heard := &listener{ready: make(chan struct{})}
	p.cmd.Stderr = heard
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	ended := make(chan struct{})
	p.ended = ended
	go func() { p.cmd.Process.Wait(); close(ended) }()
	select {
	case <-heard.ready:
	case <-ended:
		t.Fatalf("sshd ended: %s", heard.text())
	}
}

// stop returns when the port is free again.
func (p *port) stop() {
	p.cmd.Process.Kill()
	<-p.ended
}

// listener hears when an sshd listens.
type listener struct {
	ready chan struct{}
	once  sync.Once
	mu    sync.Mutex
	said  bytes.Buffer
}

func (l *listener) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said.Write(b)
	if bytes.Contains(l.said.Bytes(), []byte("Server listening on")) {
		l.once.Do(func() { close(l.ready) })
	}
	return len(b), nil
}

func (l *listener) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.String()
}

// sshd returns where the program is; without one the test says what to install.
func sshd(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s here: install openssh-client and openssh-server", name)
		}
	}
	file, err := exec.LookPath("sshd")
	if err != nil {
		file = "/usr/sbin/sshd" // which is in nobody's PATH but root's
	}
	if _, err := os.Stat(file); err != nil {
		t.Skip("no sshd here: install openssh-server")
	}
	if _, err := os.Stat("/run/sshd"); os.Getuid() == 0 && err != nil {
		t.Skip("an sshd of root needs the folder /run/sshd: make it, or run the test as somebody else")
	}
	return file
}

// entry is what a user writes, with the files of the test in place of their own.
func (p *port) entry(known, key, subsystem string) host.Server {
	name, number, _ := net.SplitHostPort(p.addr)
	return host.Server{
		Name: "far", Transport: "ssh", Command: "ssh",
		Args: []string{
			"-F", "none", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "UserKnownHostsFile=" + p.file(known),
			"-o", "GlobalKnownHostsFile=none", "-i", p.file(key), "-p", number, "-s", name, subsystem,
		},
	}
}

// wasm builds the plugin as a user does, once.
var wasm = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "transport-ssh")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "ssh.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", out, ".")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return out, nil
})

func newHost(t *testing.T) *host.Host {
	t.Helper()
	file, err := wasm()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := host.DefaultCacheDir()
	if err != nil {
		t.Skip(err)
	}
	h, err := host.New(t.Context(), host.Config{
		CacheDir: cache + "-test", // a plugin is compiled once for all runs
		Plugins:  plugins.Builtin(), Files: map[string]config.Plugin{"ssh": {Name: "ssh", File: file}},
		Reconnect: host.Policy{Ladder: []time.Duration{}, Failures: -1}, OneShot: true, Timeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func say(ctx context.Context, s *host.Session) error {
	r, err := s.CallTool(ctx, "echo", map[string]any{"message": "ahoy"})
	if err == nil && r.Content[0].Text != "ahoy" {
		err = fmt.Errorf("the echo is %q", r.Content[0].Text)
	}
	return err
}

// lose ends a client in the middle of nothing, and returns when the host knows.
func lose(t *testing.T, h *host.Host, client *os.Process) {
	t.Helper()
	w := h.Watch()
	defer w.Close()
	if err := client.Kill(); err != nil {
		t.Fatal(err)
	}
	for {
		n, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n.State != host.StateConnected {
			return
		}
	}
}

// client is an ssh that tells who it is.
func (p *port) client(t *testing.T, entry host.Server) (tells host.Server, process func() *os.Process) {
	t.Helper()
	p.write(t, "client", fmt.Sprintf("#!/bin/sh\necho $$ >%s && exec %s \"$@\"\n", p.file("pid"), entry.Command))
	if err := os.Chmod(p.file("client"), 0o700); err != nil {
		t.Fatal(err)
	}
	entry.Command = p.file("client")
	return entry, func() *os.Process {
		text, err := os.ReadFile(p.file("pid"))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		process, _ := os.FindProcess(pid) // on Unix there is always one
		return process
	}
}

// A server behind a subsystem is called, and called again when what carried the
// connection was killed, first the client and then sshd with it.
func TestServerBehindSSHD(t *testing.T) {
	p := newPort(t)
	h := newHost(t)
	entry, client := p.client(t, p.entry("known", "user", "mcp"))
	s, err := h.Connect(t.Context(), entry)
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.ListTools(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "echo" {
		t.Errorf("tools are %v (%v)", list, err)
	}
	if err := say(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	lose(t, h, client())
	if err := say(t.Context(), s); err != nil {
		t.Errorf("after ssh was killed: %v", err)
	}
	p.stop()
	lose(t, h, client())
	if err := say(t.Context(), s); !errors.Is(err, host.ErrUnreachable) || !strings.Contains(fmt.Sprint(err), "nothing listens there") {
		t.Errorf("without an sshd: %v", err)
	}
	p.start(t)
	if err := say(t.Context(), s); err != nil {
		t.Errorf("after sshd came back: %v", err)
	}
}

// The last words of a process reach the guest and its explanation the user, with
// any program that ends like ssh.
func TestLastWords(t *testing.T) {
	client := filepath.Join(t.TempDir(), "client")
	if err := os.WriteFile(client, []byte("#!/bin/sh\nread line; echo 'ada@far: Permission denied (publickey).' >&2; exit 255\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := newHost(t).Connect(t.Context(), host.Server{Name: "far", Transport: "ssh", Command: client})
	for _, want := range []string{"ssh: the host refused the sign-in (permission denied: publickey)", "ada@far: Permission denied"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
}

// Each failure is told by its name, and together with what ssh said itself.
func TestFailures(t *testing.T) {
	p := newPort(t)
	h := newHost(t)
	for name, tt := range map[string]struct {
		entry host.Server
		want  []string
	}{
		"changed host key": {p.entry("changed", "user", "mcp"), []string{`ssh: the host key of "[127.0.0.1]:`, `has changed`, "ssh-keygen -R", "Host key verification failed."}},
		"unknown host key": {p.entry("empty", "user", "mcp"), []string{"ssh: the host key is not known", "Host key verification failed."}},
		"wrong key":        {p.entry("known", "stranger", "mcp"), []string{"ssh: the host refused the sign-in (permission denied: publickey)"}},
		"no subsystem":     {p.entry("known", "user", "bogus"), []string{"ssh: the host has no such subsystem", "sshd_config"}},
		"no program":       {p.entry("known", "user", "nothing"), []string{"the server behind ssh ended with exit code 127"}},
		"crash":            {p.entry("known", "user", "crash"), []string{"the server behind ssh ended with exit code 7"}},
	} {
		_, err := h.Connect(t.Context(), tt.entry)
		if !errors.Is(err, host.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range tt.want {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s: %v\nlacks %q", name, err, want)
			}
		}
	}
}

// The command of a user carries it as well.
func TestCommand(t *testing.T) {
	p := newPort(t)
	file, err := wasm()
	if err != nil {
		t.Fatal(err)
	}
	wharf := p.file("wharf")
	p.run(t, "go", "build", "-o", wharf, "../../cmd/wharf")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, "wharf.toml", fmt.Sprintf("[plugins.ssh]\nfile = %q\nsha256 = \"%x\"\n[servers.far]\ntransport = \"ssh\"\ncommand = \"ssh\"\nargs = [\"%s\"]\n",
		file, sha256.Sum256(data), strings.Join(p.entry("known", "user", "mcp").Args, `", "`)))
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"tools", "far"}, "echo"},
		{[]string{"call", "far", "echo", "message=ahoy"}, "ahoy"},
	} {
		cmd := exec.Command(wharf, append(tt.args, "--config", p.file("wharf.toml"))...)
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+p.file("home"))
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("wharf %v: %v: %s", tt.args, err, out)
		}
	}
}
