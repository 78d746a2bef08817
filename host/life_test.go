package host_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/trace"
	"github.com/wharf-mcp/wharf/internal/oauthtest"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// A caller who leaves before a plugin is there has met no fault of the plugin.
func TestConnectIsLeft(t *testing.T) {
	h := newHost(t, host.Config{})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Connect(gone, server("modern"))
	if !errors.Is(err, context.Canceled) || errors.Is(err, host.ErrPluginRefused) || errors.As(err, new(*host.PluginError)) {
		t.Errorf("cancelled: %v", err)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	if _, err := h.Connect(late, server("modern")); !errors.Is(err, host.ErrTimeout) || errors.Is(err, host.ErrPluginRefused) {
		t.Errorf("too late: %v", err)
	}
	say(t, connect(t, h, server("modern")))
}

func TestClosedHost(t *testing.T) {
	file := testenv.Plugin(t, socketPackage)
	h := newHost(t, host.Config{})
	connect(t, h, server("modern")).Close()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	_, err := h.Connect(t.Context(), server("modern"))
	if !errors.Is(err, host.ErrClosed) || !strings.Contains(err.Error(), "modern") {
		t.Errorf("connect: %v", err)
	}
	if info, err := h.Inspect(t.Context(), file, nil); !errors.Is(err, host.ErrClosed) {
		t.Errorf("inspect: %+v, %v", info, err)
	}
}

// firstLine closes itself when something was written.
type firstLine chan struct{}

func (c firstLine) Write(p []byte) (int, error) {
	select {
	case <-c:
	default:
		close(c)
	}
	return len(p), nil
}

// Close ends an attempt to connect, and waits for what it had started.
func TestCloseWhileConnecting(t *testing.T) {
	asked := make(firstLine)
	tr, err := trace.NewPrinter("rpc", asked)
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Config{Print: tr})
	ended := make(chan error, 1)
	go func() {
		_, err := h.Connect(context.Background(), server("silent"))
		ended <- err
	}()
	<-asked
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, host.ErrClosed) {
		t.Errorf("connecting ended with %v", err)
	}
}

// Who hears a plugin's warning may close everything on the spot.
func TestCloseFromAWarning(t *testing.T) {
	t.Parallel()
	var h *host.Host
	closed := make(chan error, 1)
	h = newHost(t, host.Config{
		Files: pluginFile("hostile", testenv.Plugin(t, hostilePackage)),
		Event: func(e host.Event) {
			if strings.Contains(e.Warning, "[31m") {
				closed <- h.Close()
			}
		},
	})
	_, err := h.Connect(t.Context(), host.Server{
		Name: "rude", Transport: "hostile", Address: listen(t, "tcp"),
		Settings: map[string]string{"mode": "words"}, Protocol: "2026-07-28",
	})
	if !errors.Is(err, host.ErrClosed) {
		t.Errorf("connecting ended with %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// The last words of a server are passed on, whether or not it ended the line.
func TestLastWordsOnStderr(t *testing.T) {
	var said strings.Builder
	h := newHost(t, host.Config{Stderr: &said})
	_, err := h.Connect(t.Context(), host.Server{Name: "short", Command: "sh", Args: []string{"-c", "printf goodbye >&2; exit 3"}})
	if !errors.Is(err, host.ErrUnreachable) {
		t.Errorf("connecting ended with %v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(said.String(), "[short] goodbye\n") {
		t.Errorf("its stderr: %q", said.String())
	}
}

// The error of a call quotes what the server wrote since the call began, and nothing that it
// wrote before.
func TestErrorQuotesStderrOfItsCall(t *testing.T) {
	said, stderr := io.Pipe()
	t.Cleanup(func() { stderr.Close() })
	h := newHost(t, host.Config{Stderr: stderr})
	session := connect(t, h, server("modern"))
	if _, err := session.CallTool(t.Context(), "mutters", nil); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); !strings.Contains(line, "cheese is low") {
		t.Fatalf("its stderr: %q, %v", line, err)
	}
	go io.Copy(io.Discard, said)
	_, err := session.CallTool(t.Context(), "dies", nil)
	if err == nil || !strings.Contains(err.Error(), "out of cheese") || strings.Contains(err.Error(), "cheese is low") {
		t.Errorf("the error is %v", err)
	}
}

// The error of a call quotes what was written since the oldest call that is open: it may be what went wrong.
func TestErrorQuotesStderrOfTheOldestCall(t *testing.T) {
	said, stderr := io.Pipe()
	t.Cleanup(func() { stderr.Close() })
	h := newHost(t, host.Config{Stderr: stderr})
	session := connect(t, h, server("modern"))
	oldest := make(chan error, 1)
	go func() {
		_, err := session.CallTool(t.Context(), "mutters", map[string]any{"message": "for ever"})
		oldest <- err
	}()
	if line, err := bufio.NewReader(said).ReadString('\n'); !strings.Contains(line, "cheese is low") {
		t.Fatalf("its stderr: %q, %v", line, err)
	}
	go io.Copy(io.Discard, said)
	_, err := session.CallTool(t.Context(), "dies", nil)
	for _, err := range []error{err, <-oldest} {
		if err == nil || !strings.Contains(err.Error(), "cheese is low\nout of cheese") {
			t.Errorf("the error is %v", err)
		}
	}
}

// splitKey is a secret that a server writes to its stderr in two calls.
const splitKey = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIBAQ\n-----END KEY-----"

// What is quoted of a call has no part of a secret that began before the call.
func TestErrorQuotesNoEndOfASecret(t *testing.T) {
	said, stderr := io.Pipe()
	t.Cleanup(func() { stderr.Close() })
	h := newHost(t, host.Config{Stderr: stderr})
	s := server("modern")
	s.Env = maps.Clone(s.Env)
	s.Env["A_PRIVATE_KEY"] = splitKey
	session := connect(t, h, s)
	if _, err := session.CallTool(t.Context(), "begins a key", nil); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); !strings.Contains(line, "bad key: [secret]") {
		t.Fatalf("its stderr: %q, %v", line, err)
	}
	go io.Copy(io.Discard, said)
	_, err := session.CallTool(t.Context(), "ends a key", nil)
	if err == nil || !strings.Contains(err.Error(), "[secret]\nout of cheese") || strings.Contains(err.Error(), "AoIBAQ") || strings.Contains(err.Error(), "END KEY") {
		t.Errorf("the error is %v", err)
	}
}

// TestWhatIsKept looks at the folders of a host that was closed: it has kept compiled
// plugins and the login, with which the next host signs in, and nothing else.
func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	w := newProtectedServer(t, oauthtest.New(t.Cleanup))
	dir, v := t.TempDir(), &visitor{}
	cache, want := filepath.Join(dir, "cache"), []string{"cache", "vault"}
	if !testenv.Long() { // all plugins are compiled for it
		cache, want = testenv.CodeDir(), want[1:]
	}
	for range 2 {
		h := newHost(t, host.Config{
			CacheDir: cache, VaultDir: filepath.Join(dir, "vault"), TrustDir: filepath.Join(dir, "trust"),
			Person: &signin.Person{OpenURL: v.open},
		})
		say(t, connect(t, h, w.entry("protectedServer")))
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if pages := v.saw("protectedServer"); len(pages) != 1 {
		t.Errorf("the person was shown %q", pages)
	}
	kept := make(map[string]bool) // the folders with files
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			path, err = filepath.Rel(dir, path)
			folder, _, _ := strings.Cut(filepath.ToSlash(path), "/")
			kept[folder] = true
		}
		return err
	})
	if got := slices.Sorted(maps.Keys(kept)); err != nil || !slices.Equal(got, want) {
		t.Errorf("kept are %q, %v", got, err)
	}
}

// One call is a host that is closed after it, whatever the server does.
func TestOneCall(t *testing.T) {
	t.Parallel()
	h, err := host.New(t.Context(), host.Config{Plugins: plugins.Builtin(), CacheDir: testenv.CodeDir(), OneShot: true, StartTimeout: -1})
	if err != nil {
		t.Fatal(err)
	}
	say(t, connect(t, h, server("stays")))
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// A host is made below four others at most.
func TestHostBelowHosts(t *testing.T) {
	t.Setenv(host.NestedEnv, "4")
	newHost(t, host.Config{})
	t.Setenv(host.NestedEnv, "5")
	if _, err := host.New(t.Context(), host.Config{}); !errors.Is(err, host.ErrConfig) {
		t.Errorf("below five: %v", err)
	}
}
