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
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// registry is a server that takes what is signed with its key, and notes what it was
// shown: nothing, a good signature or another.
type registry struct {
	site
	mu   sync.Mutex
	seen []string
}

func (s *registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	sum := sha256.Sum256(body)
	mac := hmac.New(sha256.New, []byte("typed"))
	mac.Write([]byte(hex.EncodeToString(sum[:])))
	shown := map[string]string{"": "nothing", hex.EncodeToString(mac.Sum(nil)): "good"}[r.Header.Get("X-Signature")]
	s.mu.Lock()
	s.seen = append(s.seen, shown)
	s.mu.Unlock()
	if shown != "good" {
		w.Header().Set("WWW-Authenticate", "Signature")
		http.Error(w, "sign it", http.StatusUnauthorized)
		return
	}
	s.site.ServeHTTP(w, r)
}

// A signer with nothing to sign with is not asked: the request goes as it is, the server
// refuses it, the person is asked once, and from then on each request is signed.
func TestASignerThatAsksAPerson(t *testing.T) {
	signer := pluginFile("signer", testenv.Plugin(t, "./plugintest/testdata/signer"))
	s := &registry{}
	url, dir, asked := serve(t, s), vaultDir(t), 0
	h := newHost(t, host.Config{VaultDir: dir, Files: signer, Person: &signin.Person{Prompt: func(context.Context, signin.Question) (string, error) {
		asked++
		return "typed", nil
	}}})
	session := connect(t, h, signed(url, "signer", nil))
	say(t, session)
	say(t, session)
	if n := len(s.seen); asked != 1 || n < 3 || s.seen[0] != "nothing" || slices.Contains(s.seen, "") || slices.Contains(s.seen[1:], "nothing") {
		t.Errorf("asked %d times, and the server was shown %q", asked, s.seen)
	}

	// The next program has the key in the vault.
	s.seen = nil
	say(t, connect(t, newHost(t, host.Config{VaultDir: dir, Files: signer}), signed(url, "signer", nil)))
	if slices.Contains(s.seen, "nothing") || slices.Contains(s.seen, "") {
		t.Errorf("with a saved key the server was shown %q", s.seen)
	}
}

// Without a person to ask, or with an answer that does not fit, that is the error.
func TestASignerWithoutAPerson(t *testing.T) {
	url := serve(t, &registry{})
	h := newHost(t, host.Config{VaultDir: vaultDir(t), Files: pluginFile("signer", testenv.Plugin(t, "./plugintest/testdata/signer"))})
	if _, err := h.Connect(t.Context(), signed(url, "signer", nil)); !errors.Is(err, host.ErrAuthRequired) {
		t.Errorf("error %v, hint %q", err, host.Hint(err))
	}
}
