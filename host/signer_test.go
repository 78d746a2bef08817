package host_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// registry is a server that takes what is signed with its key, and notes what it was
// shown: nothing, a good signature or another.
type registry struct {
	site
	mu    sync.Mutex
	seen  []string
	tired bool // it refuses the next call, which is signed well
}

// showing is the entry of a server whose signer sees the bodies of requests.
func showing(url string) host.Server {
	entry := signed(url, "signer", nil)
	entry.Auth.RequestBody = true
	return entry
}

func (s *registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	mac := hmac.New(sha256.New, []byte("typed"))
	mac.Write(body)
	shown := map[string]string{"": "nothing", hex.EncodeToString(mac.Sum(nil)): "good"}[r.Header.Get("X-Signature")]
	s.mu.Lock()
	s.seen = append(s.seen, shown)
	refused := shown != "good"
	if s.tired && !refused && bytes.Contains(body, []byte("tools/call")) {
		s.tired, refused = false, true
	}
	s.mu.Unlock()
	if refused {
		w.Header().Set("WWW-Authenticate", "Signature")
		http.Error(w, "sign it", http.StatusUnauthorized)
		return
	}
	s.site.ServeHTTP(w, r)
}

// A signer with nothing to sign with is not asked: the request goes as it is, the server
// refuses it, the person is asked once, and from then on each request is signed.
func TestASignerThatAsksAPerson(t *testing.T) {
	t.Parallel()
	signer := pluginFile("signer", testenv.Plugin(t, "./plugintest/testdata/signer"))
	s := &registry{}
	url, dir, asked := serve(t, s), vaultDir(t), 0
	h := newHost(t, host.Config{VaultDir: dir, Files: signer, Person: &signin.Person{Ask: func(context.Context, signin.Question) (string, error) {
		asked++
		return "typed", nil
	}}})
	session := connect(t, h, showing(url))
	say(t, session)
	say(t, session)
	if n := len(s.seen); asked != 1 || n < 3 || s.seen[0] != "nothing" || slices.Contains(s.seen, "") || slices.Contains(s.seen[1:], "nothing") {
		t.Errorf("asked %d times, and the server was shown %q", asked, s.seen)
	}

	// The next program has the key in the vault.
	s.seen = nil
	say(t, connect(t, newHost(t, host.Config{VaultDir: dir, Files: signer}), showing(url)))
	if slices.Contains(s.seen, "nothing") || slices.Contains(s.seen, "") {
		t.Errorf("with a saved key the server was shown %q", s.seen)
	}
}

// Without a person to ask, or with an answer that does not fit, that is the error.
func TestASignerWithoutAPerson(t *testing.T) {
	t.Parallel()
	url := serve(t, &registry{})
	h := newHost(t, host.Config{VaultDir: vaultDir(t), Files: pluginFile("signer", testenv.Plugin(t, "./plugintest/testdata/signer"))})
	if _, err := h.Connect(t.Context(), showing(url)); !errors.Is(err, host.ErrAuthRequired) {
		t.Errorf("error %v, hint %q", err, host.Hint(err))
	}
}

// A provider that asks for it signs the bytes of each body, however long and over which
// transport, and signs again what the server has refused.
func TestASignerOfBodies(t *testing.T) {
	t.Parallel()
	files := pluginFile("signer", testenv.Plugin(t, "./plugintest/testdata/signer"))
	for name, s := range map[string]*registry{
		"modern": {}, "legacy": {site: site{legacy: true}}, "HTTP+SSE": {site: site{legacy: true, sse: true}},
	} {
		t.Run(name, func(t *testing.T) {
			asked, entry := 0, showing(serve(t, s))
			h := newHost(t, host.Config{VaultDir: vaultDir(t), Files: files, Person: &signin.Person{Ask: func(context.Context, signin.Question) (string, error) {
				asked++
				return "typed", nil
			}}})
			if s.sse {
				entry.Transport = "sse"
			}
			session := connect(t, h, entry)
			for _, size := range []int{1, 60 << 10, step.MaxBody - 1<<10} {
				text := strings.Repeat("é", size/2)
				if result, err := session.CallTool(t.Context(), "echo", map[string]any{"message": text}); err != nil || result.Content[0].Text != text {
					t.Errorf("%d bytes: %v", size, err)
				}
			}
			s.mu.Lock()
			s.tired = true
			s.mu.Unlock()
			say(t, session)
			s.mu.Lock()
			defer s.mu.Unlock()
			if asked != 2 || s.tired || slices.Contains(s.seen, "") {
				t.Errorf("asked %d times, and the server was shown %q", asked, s.seen)
			}
		})
	}
}

// Neither a body that is too long nor one that the user has not allowed is sent, signed or
// not; the error says what to do, and the connection goes on.
func TestABodyIsNotShown(t *testing.T) {
	t.Parallel()
	files := pluginFile("signer", testenv.Plugin(t, "./plugintest/testdata/signer"))
	s, dir := &registry{}, vaultDir(t)
	url := serve(t, s)
	h := newHost(t, host.Config{VaultDir: dir, Files: files, Person: &signin.Person{Ask: func(context.Context, signin.Question) (string, error) { return "typed", nil }}})
	session := connect(t, h, showing(url))
	say(t, session)
	count := len(s.seen)
	_, err := session.CallTool(t.Context(), "echo", map[string]any{"message": strings.Repeat("x", step.MaxBody)})
	if want := "bytes, and a provider that is shown bodies signs at most 262144"; err == nil || !strings.Contains(err.Error(), want) || len(s.seen) != count {
		t.Errorf("%d requests, and the error %v, want %q", len(s.seen)-count, err, want)
	}
	say(t, session)

	count = len(s.seen)
	_, err = newHost(t, host.Config{VaultDir: dir, Files: files}).Connect(t.Context(), signed(url, "signer", nil))
	if !errors.Is(err, host.ErrDenied) || !strings.Contains(host.Hint(err), "request_body = true") || len(s.seen) != count {
		t.Errorf("%d requests, error %v, hint %q", len(s.seen)-count, err, host.Hint(err))
	}
}
