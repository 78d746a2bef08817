package host_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// witness is a server that takes every token, and remembers them.
type witness struct {
	http.Handler
	mu   sync.Mutex
	seen []string
}

func newWitness(t *testing.T) (w *witness, url string) {
	w = &witness{Handler: &site{}}
	return w, serve(t, w)
}

func (w *witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	if token := r.Header.Get("Authorization"); !slices.Contains(w.seen, token) {
		w.seen = append(w.seen, token)
	}
	w.mu.Unlock()
	w.Handler.ServeHTTP(rw, r)
}

func (w *witness) tokens() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// A provider that serves two servers cannot give the token of the one to the other:
// not by its memory, and not by any record that names no server.
func TestAProviderCarriesNothingBetweenServers(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"memory", "record", "client", "registration"} {
		t.Run(place, func(t *testing.T) {
			h := newHost(t, host.Config{Plugins: plugins.Builtin(), VaultDir: vaultDir(t), Files: pluginFile("hoarder", testenv.Plugin(t, "./testdata/hoarder"))})
			for _, token := range []string{"of-a", "of-b", "of-c"} {
				w, url := newWitness(t)
				entry := signed(url, "hoarder", map[string]any{"token": token, "place": place})
				entry.Name = token
				say(t, connect(t, h, entry))
				if got := w.tokens(); !slices.Equal(got, []string{"Bearer " + token}) {
					t.Errorf("the server of %s was shown %q", token, got)
				}
			}
		})
	}
}
