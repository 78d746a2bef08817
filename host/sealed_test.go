package host_test

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/trace"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

const sealerPackage = "./testdata/sealer"

// pass is what signs in to a guarded server, a line of its own.
const pass = "p4ss-canary\n"

// passwordServer serves those whose first line is pass, and tells what each began with.
func passwordServer(t *testing.T) (address string, began <-chan string) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "loft.sock"))
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 16)
	var wg sync.WaitGroup
	t.Cleanup(func() { l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				line, _ := in.ReadString('\n')
				if lines <- line; line == pass {
					serveConn(in, bufio.NewWriter(conn), true)
				}
			})
		}
	})
	return "unix:" + l.Addr().String(), lines
}

// lockedBuffer is written to by many.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// sealing is a host with a provider for streams and transports that carry them,
// and all that it shows.
func sealing(t *testing.T) (h *host.Host, shown *lockedBuffer, warned <-chan string) {
	t.Helper()
	shown = &lockedBuffer{}
	tr, err := trace.NewPrinter("rpc,abi,io", shown)
	if err != nil {
		t.Fatal(err)
	}
	warnings := make(chan string, 16)
	files := map[string]config.Plugin{}
	for name, pkg := range map[string]string{"pigeon": socketPackage, "hostile": hostilePackage, "sealer": sealerPackage} {
		files[name] = config.Plugin{Name: name, File: testenv.Plugin(t, pkg)}
	}
	h = newHost(t, host.Config{Files: files, Print: tr, Event: func(e host.Event) {
		if e.Warning != "" {
			warnings <- e.Warning
		}
	}})
	return h, shown, warnings
}

// loft is the entry of a guarded server.
func loft(address, transport string, settings map[string]any) host.Server {
	return host.Server{
		Name: "loft", Transport: transport, Address: address, Protocol: "2026-07-28",
		Auth: config.Auth{Provider: "sealer", Blob: true, Settings: settings},
	}
}

// What a provider gives reaches the server of a stream before the first message,
// on each connection, and no other program.
func TestSealedStream(t *testing.T) {
	t.Parallel()
	address, began := passwordServer(t)
	h, shown, _ := sealing(t)
	for range 2 {
		s := connect(t, h, loft(address, "pigeon", map[string]any{"blob": pass}))
		say(t, s)
		if got := <-began; got != pass {
			t.Errorf("the server was told %q", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, want := range []string{"event(OPENED, 1, SEALED, 12)", "forward(1, 0, 12) = OK"} {
		if n := strings.Count(shown.String(), want); n != 2 {
			t.Errorf("the trace has %s %d times", want, n)
		}
	}
	if strings.Contains(shown.String(), strings.TrimSpace(pass)) {
		t.Error("the trace shows it")
	}
}

// Without a word of the entry, nothing of the provider goes into a stream.
func TestUnsealedStream(t *testing.T) {
	t.Parallel()
	address, began := passwordServer(t)
	h, _, _ := sealing(t)
	entry := loft(address, "pigeon", map[string]any{"blob": pass})
	entry.Auth.Blob = false
	if _, err := h.Connect(t.Context(), entry); err == nil {
		t.Error("the server let it in")
	}
	select {
	case got := <-began:
		if !strings.HasPrefix(got, "{") {
			t.Errorf("the server was told %q", got)
		}
	default:
		t.Error("the server was not called")
	}
}

// Without a login the server is not called, and the error says what is missing.
func TestStreamThatNeedsALogin(t *testing.T) {
	t.Parallel()
	address, began := passwordServer(t)
	h, _, _ := sealing(t)
	_, err := h.Connect(t.Context(), loft(address, "pigeon", nil))
	if !errors.Is(err, host.ErrAuthRequired) || !strings.Contains(host.Hint(err), "wharf login loft") {
		t.Errorf("connecting ended with %v (hint %q)", err, host.Hint(err))
	}
	if len(began) != 0 {
		t.Errorf("the server was told %q", <-began)
	}
}

// The user hears of a transport that does not know what to do with it.
func TestTransportThatDropsTheSeal(t *testing.T) {
	t.Parallel()
	address, began := passwordServer(t)
	h, shown, warned := sealing(t)
	entry := loft(address, "hostile", map[string]any{"blob": pass})
	entry.Settings = map[string]string{"mode": "ignorant"}
	_, err := h.Connect(t.Context(), entry)
	if got := <-warned; !strings.Contains(got, "plugin hostile") || !strings.Contains(got, "did not forward") {
		t.Errorf("warned: %q", got)
	}
	if got := <-began; !strings.HasPrefix(got, "{") {
		t.Errorf("the server was told %q", got)
	}
	if err == nil || strings.Contains(err.Error()+shown.String(), strings.TrimSpace(pass)) {
		t.Errorf("connecting ended with %v", err)
	}
}
