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
	"sync/atomic"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/internal/oauthtest"
)

// newProtected starts a server over HTTP that wants a sign-in at o, for all or only for calls.
func newProtected(t *testing.T, o *oauthtest.Server, onlyCalls bool, admits func(token string) bool) *oauthtest.Resource {
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
		if (!onlyCalls || read(r).Method == "tools/call") && !admits(token) {
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
				o := oauthtest.New(t.Cleanup)
				p := newProtected(t, o, to.bare, o.Admits)
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

// A sign-in by a code has the client of the call show the page at which it is typed, and goes on when the person
// has typed it.
func TestCodeAtTheClient(t *testing.T) {
	var typed atomic.Bool
	o := oauthtest.New(t.Cleanup)
	o.Metadata = func(m map[string]any) { m["device_authorization_endpoint"] = o.URL + "/code" }
	o.Answer("/code", func(w http.ResponseWriter, _ *http.Request) {
		oauthtest.Reply(w, 200, map[string]any{"device_code": "d", "user_code": "AB-CD", "verification_uri": o.URL + "/device", "interval": 1})
	})
	o.Answer("/device", func(http.ResponseWriter, *http.Request) { typed.Store(true) })
	o.Answer("/token", func(w http.ResponseWriter, _ *http.Request) {
		if !typed.Load() {
			oauthtest.Reply(w, 400, map[string]any{"error": "authorization_pending"})
			return
		}
		oauthtest.Reply(w, 200, map[string]any{"access_token": "good", "token_type": "Bearer"})
	})
	p := newProtected(t, o, true, func(token string) bool { return token == "good" })
	s := newScene(t, legacy, func(h *host.Config, g *gateway.Config) {
		h.VaultDir = filepath.Join(t.TempDir(), "vault")
		h.Person = gateway.Person(nil)
		g.Servers = []host.Server{{Name: "crm", URL: p.URL, Protocol: legacy, Auth: config.Auth{Settings: map[string]any{"grant": "device_code"}}}}
	})
	c := s.client()
	c.send(initialize("0", legacy, `{"elicitation":{"url":{}}}`))
	c.read()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`)
	c.want(`{"jsonrpc":"2.0","id":$ask,"method":"elicitation/create","params":{"mode":"url","message":"crm wants you to sign in. Type the code AB-CD at ` + o.URL + `/device","url":"` + o.URL + `/device","elicitationId":"$page"}}`)
	resp, err := http.Get(o.URL + "/device")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	c.send(`{"jsonrpc":"2.0","id":$ask,"result":{"action":"accept"}}`)
	c.want(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
}
