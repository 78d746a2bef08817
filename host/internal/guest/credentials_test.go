package guest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

const proberPackage = "./testdata/prober"

// token signs in. Each attempt has another one.
const token = "c4nary-0f-the-header"

// signer has a new token for each request that is refused, once for each request.
type signer struct{ n atomic.Int64 }

func (s *signer) Apply(context.Context, *httpclient.Request) ([]abi.Pair, error) {
	return []abi.Pair{{Key: "Authorization", Value: fmt.Sprintf("Bearer %s-%d", token, s.n.Add(1))}}, nil
}
func (*signer) Challenge(_ context.Context, c *httpclient.Challenge) (bool, error) {
	if c.Number == 1 {
		return true, nil
	}
	return false, fmt.Errorf("the %s is no good", c.Sent[0].Value)
}
func (*signer) Nonce(string) {}

// leakyServer is a server that tells everybody what it was told: with a status, in the
// head and in the body, or as where to go.
type leakyServer struct {
	away   string // of another origin
	signed atomic.Int64
}

func (g *leakyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given := r.Header.Get("Authorization")
	if strings.HasPrefix(given, "Bearer "+token) {
		g.signed.Add(1)
	}
	_, word, _ := strings.Cut(given, " ")
	body, _ := io.ReadAll(r.Body)
	way := string(body) + r.URL.Path
	tell := func(status int) {
		w.Header().Set("WWW-Authenticate", "Bearer error_description="+word)
		w.Header().Set("X-Given", given)
		w.Header().Set("Set-Cookie", "given="+word)
		w.WriteHeader(status)
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"`+given+`"}}`)
	}
	switch {
	case strings.Contains(way, "ok"):
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Given", given)
		w.Header().Set("DPoP-Nonce", word)
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	case strings.Contains(way, "forbidden"):
		tell(http.StatusForbidden)
	case strings.Contains(way, "around"):
		w.Header().Set("Location", "/mcp/refused?given="+word)
		w.WriteHeader(http.StatusTemporaryRedirect)
	case strings.Contains(way, "beside"):
		w.Header().Set("Location", "/other?given="+word)
		w.WriteHeader(http.StatusTemporaryRedirect)
	case strings.Contains(way, "away"):
		w.Header().Set("Location", g.away+"/?given="+word)
		w.WriteHeader(http.StatusPermanentRedirect)
	default:
		tell(http.StatusUnauthorized)
	}
}

// tableHost is what a table grants, as a guest sees it.
type tableHost struct{ table *capability.Table }

func (o tableHost) Open(kind abi.OpenKind, r *abi.OpenRequest, sink hostio.Sink) (hostio.Stream, abi.Status, error) {
	return o.table.Open(kind, r, sink)
}
func (o tableHost) Timers(fire func(uint32)) hostio.Timers { return capability.NewTimers(fire) }

// endInbox is an inbox that says when an exchange is over.
type endInbox struct {
	*inbox
	over chan error
}

func (e endInbox) Done(exchange uint32)              { e.over <- nil }
func (e endInbox) Failed(exchange uint32, err error) { e.over <- err }

// searched is a guest whose memory is searched after each of its events, when
// nothing else can run it, for what it must not know. So is all that passes it.
// What was found may be looked at when it is closed.
type searched struct {
	*Instance
	inbox  endInbox
	forbid string
	seen   map[string]bool // lines of the trace that it was found at
	events int             // after which all memory was searched
	wall   int             // bytes that were searched last
}

func search(t *testing.T, pkg string, grant capability.Target, forbid string) *searched {
	t.Helper()
	s := &searched{inbox: endInbox{newInbox(), make(chan error, 1)}, forbid: forbid, seen: map[string]bool{}}
	inst, err := New(t.Context(), Config{Plugin: filepath.Base(pkg), Module: module(t, pkg), Trace: s.look})
	if err != nil {
		t.Fatal(err)
	}
	s.Instance = inst
	table := capability.NewTable(capability.Config{Grants: []capability.Grant{{Name: "main", To: grant}}})
	t.Cleanup(func() {
		inst.Close(context.Background())
		table.Close(context.Background())
	})
	inst.Open(&abi.Settings{Server: "test", Grants: inst.Manifest().Grants}, nil, tableHost{table}, s.inbox)
	return s
}

// look is the trace. It runs where the guest does.
func (s *searched) look(line, payload []byte) {
	if s.Instance == nil {
		return // it describes itself, and there are no credentials yet
	}
	places := [][]byte{line, payload}
	if bytes.HasPrefix(line, []byte("--> =")) {
		memory, ok := s.executor.Memory(0, s.executor.Pages()<<16)
		if !ok {
			memory = []byte(s.forbid)
		}
		s.events, s.wall, places = s.events+1, len(memory), append(places, memory)
	}
	for _, place := range places {
		if bytes.Contains(place, []byte(s.forbid)) {
			s.seen[strings.TrimSpace(string(line))] = true
		}
	}
}

// done ends the guest, and fails the test if it has seen anything.
func (s *searched) done(t *testing.T, events int) {
	t.Helper()
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if len(s.seen) != 0 || s.events < events || s.wall < 1<<16 {
		t.Errorf("it was seen at %v; searched after %d events, %d bytes at last", s.seen, s.events, s.wall)
	}
}

// ask sends a message and returns what became of it.
func (s *searched) ask(t *testing.T, n uint32, text string) error {
	t.Helper()
	if err := s.Send(t.Context(), newTestMessage(n, text, nil)); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.inbox.over:
		return err
	case <-s.inbox.closed:
		t.Fatalf("the guest is gone: %v", s.inbox.cause)
		return nil
	}
}

// A transport is never shown what signs its requests in, whatever the server makes
// of it and whatever the transport asks for.
func TestCredentialsAreNotSeen(t *testing.T) {
	away := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s arrived elsewhere", r.URL)
	}))
	defer away.Close()
	for _, tt := range []struct {
		pkg  string
		asks []string
		ends []bool // which of them end well
	}{
		{httpPackage, []string{"ok", "refused", "forbidden", "around", "beside", "away", "ok"}, []bool{true, false, false, false, false, false, true}},
		{proberPackage, []string{
			"POST /mcp/ok", "POST /mcp/refused", "GET /mcp/forbidden", "DELETE /mcp/around", "POST /mcp/beside", "POST /mcp/away",
			"POST /mcp/ok authorization:Bearer", "POST /mcp/ok proxy-authorization:x", "POST /mcp/ok cookie:x", "POST /mcp/ok connection:authorization",
			"POST /mcp/ok x-http-method-override:TRACE", "POST /mcp/ok x-forwarded-host:evil.example", "POST /mcp/ok host:evil.example",
			"TRACE /mcp", "OPTIONS /mcp", "PUT /mcp", "CONNECT /mcp", "POST /other", "POST /mcp/../other", "POST /mcp/%2e%2e/other",
			"POST //evil.example/mcp", "POST http://evil.example/mcp", "POST http://user@/mcp", "POST /mcp/ok",
		}, []bool{0: true, 23: true}},
	} {
		t.Run(filepath.Base(tt.pkg), func(t *testing.T) {
			g := &leakyServer{away: away.URL}
			server := httptest.NewServer(g)
			defer server.Close()
			o, err := httpclient.ParseOrigin(server.URL + "/mcp")
			if err != nil {
				t.Fatal(err)
			}
			o.Credentials = &signer{}
			s := search(t, tt.pkg, o, token)
			for i, text := range tt.asks {
				if err := s.ask(t, uint32(i+1), text); (err == nil) != tt.ends[i] {
					t.Errorf("%s: ended with %v", text, err)
				}
			}
			s.done(t, len(tt.asks))
			if n := g.signed.Load(); n < 6 {
				t.Errorf("%d requests were signed in", n)
			}
		})
	}
}

// On another path of the origin nothing is signed in, where a transport may go
// there at all: what that path repeats is the transport's own.
func TestCredentialsAreForTheirPath(t *testing.T) {
	g := &leakyServer{}
	server := httptest.NewServer(g)
	defer server.Close()
	o, err := httpclient.ParseOrigin(server.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	o.Credentials, o.AnyPath = &signer{}, true
	s := search(t, proberPackage, o, token)
	for i, text := range []string{"POST /other/ok", "POST /other/refused", "POST /mcpx/ok", "POST /mcp/beside", "POST /MCP/ok", "POST /mcp;x/ok"} {
		_ = s.ask(t, uint32(i+1), text)
	}
	if s.done(t, 6); g.signed.Load() != 1 {
		t.Errorf("%d requests were signed in", g.signed.Load())
	}
}

// The search finds what a transport was let see.
func TestTransportsAreSearched(t *testing.T) {
	g := &leakyServer{}
	server := httptest.NewServer(g)
	defer server.Close()
	o, err := httpclient.ParseOrigin(server.URL + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	s := search(t, httpPackage, o, "-32000 is in the body")
	err = s.ask(t, 1, "ok -32000 is in the body")
	if s.Close(context.Background()); err != nil || len(s.seen) == 0 {
		t.Errorf("not found in %d bytes; %v", s.wall, err)
	}
}
