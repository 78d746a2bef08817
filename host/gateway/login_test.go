package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/internal/oauthtest"
)

// newProtected starts a server over HTTP that wants a sign-in, for all or only for calls.
func newProtected(t *testing.T, onlyCalls bool) *oauthtest.Resource {
	o := oauthtest.New(t.Cleanup)
	type message struct {
		ID     json.RawMessage
		Method string
	}
	read := func(r *http.Request) (m message) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body)) // which is read twice
		json.Unmarshal(body, &m)
		return m
	}
	p := oauthtest.NewResource(t.Cleanup, o, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := read(r)
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := map[string]string{
			"initialize": `{"protocolVersion":"2025-11-25","capabilities":{}}`, "server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{}}`,
			"tools/list": `{"tools":[]}`, "tools/call": `{"content":[]}`,
		}[m.Method]
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	p.Refuse = func(token string, r *http.Request) (status int, why string) {
		if r.Method != "POST" {
			return http.StatusMethodNotAllowed, ""
		}
		if (!onlyCalls || read(r).Method == "tools/call") && !o.Admits(token) {
			return http.StatusUnauthorized, p.Challenge("")
		}
		return 0, ""
	}
	return p
}

// A call that needs a sign-in has its own client show the page, and goes on when the person has
// signed in. A client of all servers is asked before the server starts.
func TestSignInAtTheClient(t *testing.T) {
	const offers = `{"elicitation":{"url":{}}}`
	for _, to := range []struct {
		server, tool string
		bare         bool
	}{{legacy, "t", true}, {modern, "t", true}, {legacy, "crm__t", false}} {
		for _, client := range []string{legacy, modern} {
			t.Run(fmt.Sprintf("%s to %s of %s", client, to.tool, to.server), func(t *testing.T) {
				server, tool := to.server, to.tool
				p := newProtected(t, to.bare)
				s := newScene(t, server, func(h *host.Config, g *gateway.Config) {
					h.VaultDir = filepath.Join(t.TempDir(), "vault")
					h.Person = gateway.Person(&signin.Person{OpenURL: func(context.Context, signin.Page) error {
						t.Error("a browser was opened")
						return signin.ErrDeclined
					}})
					g.Servers, g.Bare = []host.Server{{Name: "crm", URL: p.URL, Protocol: server}}, to.bare
				})
				c := s.client()
				meta := "," + modernMeta(offers, "")
				if client == legacy {
					meta = ""
					c.send(initialize("0", legacy, offers))
					c.read()
				}
				c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `"` + meta + `}}`)
				asked := c.read()
				if !strings.Contains(asked, `"message":"crm wants you to sign in."`) {
					t.Fatalf("the client got %s", asked)
				}
				if !s.gateway.Delayed() {
					t.Error("the time of the person counts against the call")
				}
				_, page, _ := strings.Cut(asked, `"url":"`)
				page, _, _ = strings.Cut(page, `"`)
				resp, err := http.Get(page)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if client == legacy {
					id, _, _ := bytes.Cut([]byte(asked[len(`{"jsonrpc":"2.0","id":`):]), []byte(","))
					c.send(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"action":"accept"}}`)
				} else {
					_, state, _ := strings.Cut(asked, `"requestState":"`)
					state, _, _ = strings.Cut(state, `"`)
					_, key, _ := strings.Cut(asked, `"inputRequests":{"`)
					key, _, _ = strings.Cut(key, `"`)
					c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `"` + meta + `,"inputResponses":{"` + key + `":{"action":"accept"}},"requestState":"` + state + `"}}`)
				}
				got := c.read()
				for strings.Contains(got, `"method":"notifications/cancelled"`) { // the person was faster than the answer
					got = c.read()
				}
				if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"result":{`) || strings.Contains(got, "input_required") {
					t.Errorf("the call ended with %s", got)
				}
				if s.gateway.Delayed() {
					t.Error("the sign-in has not ended")
				}
			})
		}
	}
}
