//go:build !wasip1

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/examples/internal/exampletest"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/plugintest/restarttest"
	"github.com/wharf-mcp/wharf/host/status"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// The tests below are held against a real sshd, which starts this test binary as
// its subsystems: the first argument says which.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "serve-mcp":
			serve(os.Args[2])
			return
		case "serve-crash":
			os.Exit(7)
		}
	}
	os.Exit(m.Run())
}

// serve is a server that was built with the official SDK. It writes down which
// process it is, and which one has started it.
func serve(file string) {
	ids := fmt.Sprint(os.Getpid(), " ", os.Getppid())
	if err := os.WriteFile(file, []byte(ids), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	restarttest.NewServer().Run(context.Background(), &mcp.StdioTransport{})
}

// port is a real sshd with keys of its own, on a port of this machine.
type port struct {
	dir  string
	addr string // host:port
	sshd *exampletest.Process
}

// newPort makes an sshd that runs as the user of the test, when it is started.
func newPort(t *testing.T) *port {
	t.Helper()
	sshd(t)
	p := &port{dir: t.TempDir(), addr: exampletest.Address(t)}
	for _, key := range []string{"host", "user", "stranger"} {
		p.run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", p.file(key))
	}
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
Subsystem mcp %s serve-mcp %s
Subsystem crash %s serve-crash
Subsystem nothing %s
`, number, p.file("host"), p.file("user.pub"), self, p.file("ids"), self, p.file("nothing")))
	p.know(t, "known", "host.pub")
	p.know(t, "changed", "stranger.pub")
	p.write(t, "empty", "")
	return p
}

// open is one that runs.
func open(t *testing.T) *port {
	t.Helper()
	p := newPort(t)
	p.start(t)
	return p
}

func (p *port) start(t *testing.T) {
	t.Helper()
	p.sshd = exampletest.StartProcess(t, "Server listening on", exec.Command(sshd(t), "-D", "-e", "-f", p.file("sshd_config")))
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
		file = "/usr/sbin/sshd" // which only root has in PATH
	}
	if _, err := os.Stat(file); err != nil {
		t.Skip("no sshd here: install openssh-server")
	}
	if _, err := os.Stat("/run/sshd"); os.Getuid() == 0 && err != nil {
		t.Skip("an sshd of root needs the folder /run/sshd: make it, or run the test as another user")
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

// newHost is a host that has the plugin.
func newHost(t *testing.T) *host.Host {
	t.Helper()
	return exampletest.Host(t, exampletest.Config(t, files(t)))
}

func files(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"ssh": testenv.Plugin(t, ".")}
}

// kill kills one of the processes of which the id stands in a file.
func (p *port) kill(t *testing.T, name string, which int) {
	t.Helper()
	text, err := os.ReadFile(p.file(name))
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.Atoi(strings.Fields(string(text))[which])
	if err != nil {
		t.Fatal(err)
	}
	process, _ := os.FindProcess(id) // on Unix there is always one
	process.Kill()
}

// Whatever carries the connection is killed: sshd with the child of it that carries
// this one, the server behind it, and the client on this side.
func TestRestart(t *testing.T) {
	const server, child = 0, 1
	p := newPort(t)
	trial := restarttest.Trial{Config: exampletest.Config(t, files(t)), Entry: p.entry("known", "user", "mcp"), Start: p.start}
	t.Run("sshd", func(t *testing.T) {
		trial := trial
		trial.Kill = func(t *testing.T) { p.sshd.Kill(); p.kill(t, "ids", child) }
		restarttest.Run(t, trial)
	})
	if !testenv.Long() {
		return
	}
	p.start(t)
	trial.Start, trial.ComesBack = func(*testing.T) {}, true
	t.Run("server", func(t *testing.T) {
		trial := trial
		trial.Kill = func(t *testing.T) { p.kill(t, "ids", server) }
		restarttest.Run(t, trial)
	})
	t.Run("client", func(t *testing.T) {
		trial := trial
		p.write(t, "client", fmt.Sprintf("#!/bin/sh\necho $$ >%s && exec ssh \"$@\"\n", p.file("client.id")))
		if err := os.Chmod(p.file("client"), 0o700); err != nil {
			t.Fatal(err)
		}
		trial.Entry.Command = p.file("client")
		trial.Kill = func(t *testing.T) { p.kill(t, "client.id", 0) }
		restarttest.Run(t, trial)
	})
}

// The last words of a process reach the guest and its explanation the user, with
// any program that ends like ssh. A sign-in that was refused is not tried again, by
// the host or by those who call, until a person had the time to do something.
func TestLastWords(t *testing.T) {
	dir := t.TempDir()
	client, starts := filepath.Join(dir, "client"), filepath.Join(dir, "starts")
	script := "#!/bin/sh\necho started >>" + starts + "; read line; echo 'ada@far: Permission denied (publickey).' >&2; exit 255\n"
	if err := os.WriteFile(client, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	c := exampletest.Config(t, files(t))
	c.Reconnect = config.Reconnect{Backoff: slices.Repeat([]time.Duration{1}, 100), Failures: -1}
	h, err := host.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s, err := h.Add(host.Server{Name: "far", Transport: "ssh", Command: client})
	if err != nil {
		t.Fatal(err)
	}
	var first []byte // what was started at first: an ssh for each era of the protocol
	for n := range 5 {
		_, err := s.ListTools(t.Context())
		for _, want := range []string{"ssh: the host refused the sign-in (permission denied: publickey)", "ada@far: Permission denied"} {
			if !errors.Is(err, host.ErrAuthRequired) || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%v\nlacks %q", err, want)
			}
		}
		text, err := os.ReadFile(starts)
		if err != nil {
			t.Error(err)
		}
		if n == 0 {
			first = text
		}
		if len(text) > len(first) {
			t.Errorf("ssh was started %d times", bytes.Count(text, []byte("\n")))
		}
	}
	if s := s.Status(); s.State != status.AuthRequired || !s.Next.IsZero() {
		t.Errorf("%v, and next tried at %v", s.State, s.Next)
	}
}

// Each failure is told by its name, and together with what ssh said itself.
func TestFailures(t *testing.T) {
	p := open(t)
	h := newHost(t)
	for name, tt := range map[string]struct {
		entry host.Server
		kind  error
		want  []string
	}{
		"changed host key": {p.entry("changed", "user", "mcp"), host.ErrAuthRequired, []string{`ssh: the host key of "[127.0.0.1]:`, `has changed`, "ssh-keygen -R", "Host key verification failed."}},
		"unknown host key": {p.entry("empty", "user", "mcp"), host.ErrAuthRequired, []string{"ssh: the host key is not known", "Host key verification failed."}},
		"wrong key":        {p.entry("known", "stranger", "mcp"), host.ErrAuthRequired, []string{"ssh: the host refused the sign-in (permission denied: publickey)"}},
		"no subsystem":     {p.entry("known", "user", "bogus"), host.ErrUnreachable, []string{"ssh: the host has no such subsystem", "sshd_config"}},
		"no program":       {p.entry("known", "user", "nothing"), host.ErrUnreachable, []string{"the server behind ssh ended with exit code 127"}},
		"crash":            {p.entry("known", "user", "crash"), host.ErrUnreachable, []string{"the server behind ssh ended with exit code 7"}},
	} {
		_, err := h.Connect(t.Context(), tt.entry)
		if !errors.Is(err, tt.kind) {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range tt.want {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s: %v\nlacks %q", name, err, want)
			}
		}
	}
}

// The command of a user carries it, and says where it is a matter of who may come
// in: what would mend that is in the words of ssh itself, and Wharf does not try again.
func TestCommand(t *testing.T) {
	p := open(t)
	configuration := ""
	for name, e := range map[string]host.Server{
		"far": p.entry("known", "user", "mcp"), "stranger": p.entry("known", "stranger", "mcp"), "unknown": p.entry("empty", "user", "mcp"),
	} {
		configuration += fmt.Sprintf("[servers.%s]\ntransport = \"ssh\"\ncommand = \"ssh\"\nargs = [\"%s\"]\n", name, strings.Join(e.Args, `", "`))
	}
	c := exampletest.NewCommand(t, configuration, files(t))
	c.Carries(t, "far")
	c.Unauthorized(t, "stranger", "so it needs a key without a passphrase or one in ssh-agent")
	c.Unauthorized(t, "unknown", "connect once by hand with ssh, and compare its fingerprint")
}
