//go:build !wasip1

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/plugins"
)

// prefix is where the fleet listens.
const prefix = "mcp.fleet"

// password has all that could end a text or a line.
const password = `p4"s}\s`

// harbour is a real nats-server with TLS, and users in an account that others hear
// of when somebody leaves it.
type harbour struct {
	dir  string
	addr string
	cmd  *exec.Cmd
	gone chan struct{} // cmd is
}

const configuration = `
listen: %q
tls { cert_file: %q, key_file: %q, handshake_first: true }
max_payload: 65536
system_account: WATCH
accounts {
  WATCH { users: [ { user: watch, password: %q } ] }
  FLEET { users: [
    { user: ada, password: %q, permissions: { publish: ["mcp.fleet.>"], subscribe: ["_INBOX.>"] } }
    { user: eve, password: %q, permissions: { publish: ["mcp.fleet.>"], subscribe: ["_INBOX_eve.>"] } }
    { user: server, password: %q }
  ] }
}
`

func newHarbour(t *testing.T) *harbour {
	t.Helper()
	h := &harbour{dir: t.TempDir()}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.addr = l.Addr().String()
	l.Close()
	h.certify(t)
	text := fmt.Sprintf(configuration, h.addr, h.file("cert.pem"), h.file("key.pem"), password, password, password, password)
	if err := os.WriteFile(h.file("nats.conf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h.start(t)
	return h
}

func (h *harbour) file(name string) string { return filepath.Join(h.dir, name) }

// certify makes a certificate that vouches for itself.
func (h *harbour) certify(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	public, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: public}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(h.file(name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// natsServer returns the program; without it the test says how to get it.
func natsServer(t *testing.T) string {
	t.Helper()
	file := os.Getenv("WHARF_NATS_SERVER")
	if file == "" {
		file = "nats-server"
	}
	file, err := exec.LookPath(file)
	if err != nil {
		t.Skip("no nats-server here: go install github.com/nats-io/nats-server/v2@v2.15.2, and name the file in WHARF_NATS_SERVER")
	}
	return file
}

// start returns when the NATS server is ready, which it says.
func (h *harbour) start(t *testing.T) {
	t.Helper()
	h.cmd, h.gone = exec.Command(natsServer(t), "-c", h.file("nats.conf")), make(chan struct{})
	said := &log{ready: make(chan struct{})}
	h.cmd.Stderr = said
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.stop)
	cmd, gone := h.cmd, h.gone
	go func() { cmd.Wait(); close(gone) }()
	select {
	case <-said.ready:
	case <-gone:
		t.Fatalf("nats-server ended: %s", said.text())
	}
}

// stop returns when the port is free again.
func (h *harbour) stop() {
	h.cmd.Process.Kill()
	<-h.gone
}

// log hears when a nats-server is ready.
type log struct {
	ready chan struct{}
	once  sync.Once
	mu    sync.Mutex
	said  bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said.Write(b)
	if bytes.Contains(l.said.Bytes(), []byte("Server is ready")) {
		l.once.Do(func() { close(l.ready) })
	}
	return len(b), nil
}

func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.String()
}

func (h *harbour) berth(user, name string) berth {
	return berth{Addr: h.addr, CA: h.file("cert.pem"), User: user, Password: password, Name: name}
}

// ship starts a server of the fleet and returns when it listens.
func (h *harbour) ship(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	text, _ := json.Marshal(h.berth("server", name))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), berthVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "listens\n" {
		t.Fatalf("%s said %q (%v)", name, line, err)
	}
	return cmd
}

// hear returns a client that has subscribed.
func (h *harbour) hear(t *testing.T, user, subject string) *client {
	t.Helper()
	c, err := dial(h.berth(user, ""), subject)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.out.Close() })
	return c
}

// built are the modules as a user builds them, each once.
var built sync.Map

func module(t *testing.T, pkg string) string {
	t.Helper()
	once, _ := built.LoadOrStore(pkg, sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp("", "transport-nats")
		if err != nil {
			return "", err
		}
		out := filepath.Join(dir, "plugin.wasm")
		cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", out, pkg)
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
		if said, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %s", err, said)
		}
		return out, nil
	}))
	file, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

const login = "nats-login"

func newHost(t *testing.T) *host.Host {
	t.Helper()
	cache, err := host.DefaultCacheDir()
	if err != nil {
		t.Skip(err)
	}
	h, err := host.New(t.Context(), host.Config{
		CacheDir: cache + "-test", // a plugin is compiled once for all runs
		Plugins:  plugins.Builtin(),
		Files: map[string]config.Plugin{
			"nats": {Name: "nats", File: module(t, ".")},
			login:  {Name: login, File: module(t, "../auth-nats")},
		},
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

// entry is what a user writes.
func (h *harbour) entry(user, password string) host.Server {
	return host.Server{
		Name: "fleet", Transport: "nats", Address: "tls:" + h.addr, TLS: config.TLS{CA: h.file("cert.pem")},
		Auth:     config.Auth{Provider: login, Blob: true, Settings: map[string]any{"user": user, "password": password}},
		Settings: map[string]string{settingPrefix: prefix},
	}
}

func call(ctx context.Context, s *host.Session, tool string, args map[string]any) (string, error) {
	r, err := s.CallTool(ctx, tool, args)
	if err != nil {
		return "", err
	}
	return r.Content[0].Text, nil
}

// share makes n calls, some at a time, and returns how many each server answered.
func share(t *testing.T, s *host.Session, n int) map[string]int {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	answered := map[string]int{}
	const callers = 8
	for range callers {
		wg.Go(func() {
			for range n / callers {
				name, err := call(t.Context(), s, "who", nil)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				answered[name]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return answered
}

// Two servers share the calls. When one of them is killed the other has them all,
// and when the NATS server itself was killed and is back, so are the calls.
func TestFleet(t *testing.T) {
	at := newHarbour(t)
	h := newHost(t)
	first := at.ship(t, "first")
	at.ship(t, "second")
	s, err := h.Connect(t.Context(), at.entry("ada", password))
	if err != nil {
		t.Fatal(err)
	}
	if got := share(t, s, 1000); got["first"] == 0 || got["second"] == 0 || got["first"]+got["second"] != 1000 {
		t.Errorf("answered: %v", got)
	}

	leaves := at.hear(t, "watch", "$SYS.ACCOUNT.FLEET.DISCONNECT")
	first.Process.Kill()
	if _, err := leaves.next(); err != nil {
		t.Fatal(err)
	}
	if got := share(t, s, 200); got["second"] != 200 {
		t.Errorf("with one server left, answered: %v", got)
	}

	w := h.Watch()
	defer w.Close()
	at.stop()
	for lost := false; !lost; {
		n, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lost = n.State != host.StateConnected
	}
	if _, err := call(t.Context(), s, "who", nil); !errors.Is(err, host.ErrUnreachable) {
		t.Errorf("without a NATS server: %v", err)
	}
	at.start(t)
	if _, err := call(t.Context(), s, "who", nil); !errors.Is(err, host.ErrUnreachable) || !strings.Contains(fmt.Sprint(err), "no server listens on mcp.fleet.request") {
		t.Errorf("without servers: %v", err)
	}
	at.ship(t, "third")
	if got, err := call(t.Context(), s, "who", nil); got != "third" {
		t.Errorf("after all of it: %q, %v", got, err)
	}
}

// Tools are listed, words of progress come before their answer, long answers come
// whole, what is too long is not sent, and a caller who leaves is missed.
func TestCalls(t *testing.T) {
	at := newHarbour(t)
	at.ship(t, "only")
	s, err := newHost(t).Connect(t.Context(), at.entry("ada", password))
	if err != nil {
		t.Fatal(err)
	}
	if list, err := s.ListTools(t.Context()); err != nil || len(list) != 4 {
		t.Errorf("tools: %v (%v)", list, err)
	}
	var heard []float64
	ctx := host.WithProgress(t.Context(), func(p mcp.Progress) { heard = append(heard, p.Done) })
	if got, err := call(ctx, s, "count", nil); got != "three" || len(heard) == 0 || heard[len(heard)-1] != 3 {
		t.Errorf("counted %q, heard %v (%v)", got, heard, err)
	}
	long := strings.Repeat("la ", 20_000)
	if got, err := call(t.Context(), s, "echo", map[string]any{"message": long}); got != long {
		t.Errorf("an echo of %d bytes (%v)", len(got), err)
	}
	if _, err := call(t.Context(), s, "echo", map[string]any{"message": long + long}); !strings.Contains(fmt.Sprint(err), "up to 65536 bytes") {
		t.Errorf("a message that is too long: %v", err)
	}

	begun, left := at.hear(t, "server", "test.begun"), at.hear(t, "server", "test.left")
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { _, err := call(ctx, s, "wait", nil); ended <- err }()
	if _, err := begun.next(); err != nil {
		t.Fatal(err)
	}
	leave()
	if _, err := left.next(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
}

// Whoever may not come in is told, and so is whoever may not have these inboxes.
func TestSignInAtNATS(t *testing.T) {
	at := newHarbour(t)
	at.ship(t, "only")
	h := newHost(t)
	for _, tt := range []struct{ user, password, want string }{
		{"ada", "guess", "the NATS server says: Authorization Violation"},
		{"eve", password, `Permissions Violation for Subscription to "_INBOX.`},
	} {
		if _, err := h.Connect(t.Context(), at.entry(tt.user, tt.password)); !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: %v", tt.user, err)
		}
	}
	entry := at.entry("eve", password)
	entry.Settings[settingInbox] = "_INBOX_eve"
	s, err := h.Connect(t.Context(), entry)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := call(t.Context(), s, "who", nil); got != "only" {
		t.Errorf("with inboxes of her own: %q, %v", got, err)
	}
}

// The command of a user carries it as well.
func TestCommand(t *testing.T) {
	at := newHarbour(t)
	at.ship(t, "only")
	wharf := at.file("wharf")
	if out, err := exec.Command("go", "build", "-o", wharf, "../../cmd/wharf").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text := ""
	for name, pkg := range map[string]string{"nats": ".", login: "../auth-nats"} {
		data, err := os.ReadFile(module(t, pkg))
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("[plugins.%s]\nfile = %q\nsha256 = \"%x\"\n", name, module(t, pkg), sha256.Sum256(data))
	}
	text += fmt.Sprintf("[servers.fleet]\ntransport = \"nats\"\naddress = %q\ntls = { ca = %q }\nsettings = { prefix = %q }\n"+
		"auth = { provider = %q, blob = true, user = \"ada\", password = \"${NATS_PASSWORD}\" }\n", "tls:"+at.addr, at.file("cert.pem"), prefix, login)
	if err := os.WriteFile(at.file("wharf.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"tools", "fleet"}, "echo"},
		{[]string{"call", "fleet", "echo", "message=ahoy"}, "ahoy"},
	} {
		cmd := exec.Command(wharf, append(tt.args, "--config", at.file("wharf.toml"))...)
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+at.file("home"), "NATS_PASSWORD="+password)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("wharf %v: %v: %s", tt.args, err, out)
		}
	}
}
