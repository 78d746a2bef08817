//go:build !wasip1

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
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

	"github.com/wharf-mcp/wharf/examples/internal/exampletest"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/plugintest/restarttest"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// prefix is where the fleet listens.
const prefix = "mcp.fleet"

// password has all that could end a text or a line.
const password = `p4"s}\s`

// testNATS is a real nats-server with TLS, and users in an account that others hear
// when a member leaves it.
type testNATS struct {
	dir  string
	addr string
	nats *exampletest.Process
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

// newTestNATS makes one, which is not started.
func newTestNATS(t *testing.T) *testNATS {
	t.Helper()
	natsServer(t)
	h := &testNATS{dir: t.TempDir(), addr: exampletest.Address(t)}
	h.certify(t)
	text := fmt.Sprintf(configuration, h.addr, h.file("cert.pem"), h.file("key.pem"), password, password, password, password)
	if err := os.WriteFile(h.file("nats.conf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

// open is one that runs.
func open(t *testing.T) *testNATS {
	t.Helper()
	h := newTestNATS(t)
	h.start(t)
	return h
}

func (h *testNATS) file(name string) string { return filepath.Join(h.dir, name) }

// certify makes a certificate that vouches for itself.
func (h *testNATS) certify(t *testing.T) {
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

func (h *testNATS) start(t *testing.T) {
	t.Helper()
	h.nats = exampletest.StartProcess(t, "Server is ready", exec.Command(natsServer(t), "-c", h.file("nats.conf")))
}

func (h *testNATS) endpoint(user, name string) endpoint {
	return endpoint{Addr: h.addr, CA: h.file("cert.pem"), User: user, Password: password, Name: name}
}

// startWorker starts a server of the fleet, which listens when it returns.
func (h *testNATS) startWorker(t *testing.T, name string) *exampletest.Process {
	t.Helper()
	text, _ := json.Marshal(h.endpoint("server", name))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), endpointVariable+"="+string(text))
	return exampletest.StartProcess(t, "listens", cmd)
}

// hear returns a client that has subscribed.
func (h *testNATS) hear(t *testing.T, user, subject string) *client {
	t.Helper()
	c, err := dial(h.endpoint(user, ""), subject)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.out.Close() })
	return c
}

const login = "nats-login"

func files(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"nats": testenv.Plugin(t, "."), login: testenv.Plugin(t, "../auth-nats")}
}

func newHost(t *testing.T) *host.Host {
	t.Helper()
	return exampletest.Host(t, exampletest.Config(t, files(t)))
}

// entry is what a user writes.
func (h *testNATS) entry(user, password string) host.Server {
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

// Two servers share the calls. When one of them is killed the other has them all.
func TestFleet(t *testing.T) {
	at := open(t)
	h := newHost(t)
	first := at.startWorker(t, "first")
	at.startWorker(t, "second")
	s, err := h.Connect(t.Context(), at.entry("ada", password))
	if err != nil {
		t.Fatal(err)
	}
	if got := share(t, s, 1000); got["first"] == 0 || got["second"] == 0 || got["first"]+got["second"] != 1000 {
		t.Errorf("answered: %v", got)
	}

	leaves := at.hear(t, "watch", "$SYS.ACCOUNT.FLEET.DISCONNECT")
	first.Kill()
	if _, err := leaves.next(); err != nil {
		t.Fatal(err)
	}
	if got := share(t, s, 200); got["second"] != 200 {
		t.Errorf("with one server left, answered: %v", got)
	}
}

// The NATS server is killed, and the fleet with it, which lives on its connections.
func TestRestart(t *testing.T) {
	at := newTestNATS(t)
	restarttest.Run(t, restarttest.Trial{
		Config: exampletest.Config(t, files(t)), Entry: at.entry("ada", password), Longest: 50_000,
		Start: func(t *testing.T) { at.start(t); at.startWorker(t, "only") },
		Kill:  func(*testing.T) { at.nats.Kill() },
	})
}

// A server of the fleet dies with a request, and NATS does not tell the caller. The
// rest of the fleet has the next one, and without a rest it is not sent.
func TestServerLost(t *testing.T) {
	at := open(t)
	first := at.startWorker(t, "first")
	leaves, begun := at.hear(t, "watch", "$SYS.ACCOUNT.FLEET.DISCONNECT"), at.hear(t, "server", "test.begun")
	s, err := newHost(t).Connect(t.Context(), at.entry("ada", password))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { _, err := call(ctx, s, "wait", nil); ended <- err }()
	if _, err := begun.next(); err != nil {
		t.Fatal(err)
	}
	first.Kill()
	if _, err := leaves.next(); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t.Context(), s, "who", nil); !errors.Is(err, host.ErrNotSent) || !strings.Contains(fmt.Sprint(err), "no server listens on mcp.fleet.request") {
		t.Errorf("without servers: %v", err)
	}
	at.startWorker(t, "second")
	if got, err := call(t.Context(), s, "who", nil); got != "second" {
		t.Errorf("with another server: %q, %v", got, err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || !host.MaybeSent(err) {
		t.Errorf("the call without an answer ended with %v", err)
	}
}

// Tools are listed, words of progress come before their answer, long answers come
// whole, what is too long is not sent, and a caller who leaves is missed.
func TestCalls(t *testing.T) {
	at := open(t)
	at.startWorker(t, "only")
	s, err := newHost(t).Connect(t.Context(), at.entry("ada", password))
	if err != nil {
		t.Fatal(err)
	}
	if list, err := s.ListTools(t.Context()); err != nil || len(list) != 5 {
		t.Errorf("tools: %v (%v)", list, err)
	}
	var heard []float64
	ctx := host.WithOptions(t.Context(), host.RequestOptions{Progress: func(p mcp.Progress) { heard = append(heard, p.Done) }})
	if got, err := call(ctx, s, "count", nil); got != "three" || len(heard) == 0 || heard[len(heard)-1] != 3 {
		t.Errorf("counted %q, heard %v (%v)", got, heard, err)
	}
	long := strings.Repeat("la ", 20_000)
	if got, err := call(t.Context(), s, "echo", map[string]any{"message": long}); got != "Echo: "+long {
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

// A user whom the server refuses is told, and so is one who may not have these inboxes.
func TestSignInAtNATS(t *testing.T) {
	at := open(t)
	at.startWorker(t, "only")
	h := newHost(t)
	for _, tt := range []struct {
		user, password string
		kind           error
		want           string
	}{
		{"ada", "guess", host.ErrAuthRequired, "the NATS server says: Authorization Violation"},
		{"eve", password, host.ErrUnreachable, `Permissions Violation for Subscription to "_INBOX.`},
	} {
		_, err := h.Connect(t.Context(), at.entry(tt.user, tt.password))
		if !errors.Is(err, tt.kind) || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: %v", tt.user, err)
		}
		if told := strings.Contains(host.Hint(err), "wharf login "); told != (tt.kind == host.ErrAuthRequired) {
			t.Errorf("%s: the hint is %q", tt.user, host.Hint(err))
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

// The command of a user carries it as well, and says who was not let in.
func TestCommand(t *testing.T) {
	at := open(t)
	at.startWorker(t, "only")
	configuration := ""
	for name, password := range map[string]string{"fleet": "${NATS_PASSWORD}", "stranger": "a guess"} {
		configuration += fmt.Sprintf("[servers.%s]\ntransport = \"nats\"\naddress = %q\ntls = { ca = %q }\nsettings = { prefix = %q }\n"+
			"auth = { provider = %q, blob = true, user = \"ada\", password = %q }\n", name, "tls:"+at.addr, at.file("cert.pem"), prefix, login, password)
	}
	t.Setenv("NATS_PASSWORD", password)
	c := exampletest.NewCommand(t, configuration, files(t))
	c.Carries(t, "fleet")
	c.Unauthorized(t, "stranger", "the NATS server says: Authorization Violation; look at auth in the entry")
}
