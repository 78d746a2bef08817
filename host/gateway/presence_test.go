package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/policy"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// bare connects a client of an era directly to a server. The client calls leave when it is done.
func (p *pair) bare(era, server string) (c *speaker, leave func()) {
	ours, theirs := testenv.NewDuplex()
	done := make(chan error, 1)
	go func() { done <- p.gateway.ServeBare(context.Background(), ours, server, false) }()
	leave = func() {
		theirs.Close()
		<-done
		done <- nil
	}
	p.t.Cleanup(leave)
	c = &speaker{end: newEnd(p.t, "client", theirs, p.vars), era: era}
	if era == modern {
		c.contains("server/discover", `{}`, `"supportedVersions"`)
		return c, leave
	}
	c.contains("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"ed\u001bitor","version":"2"}}`, `"protocolVersion":"2025-11-25"`)
	c.send(initialized)
	return c, leave
}

func shownClients(all []gateway.Client) string {
	var out strings.Builder
	for _, c := range all {
		fmt.Fprintf(&out, "%s %s %s %s %q at %q %v, %d in flight\n", c.Name, c.Version, c.Kind, c.Era, c.Principal, c.Server, c.Servers, c.InFlight)
	}
	return out.String()
}

// The clients that are there are known from their first request until they have left, with what they do.
func TestClients(t *testing.T) {
	events := make(chan string, 20)
	p := newPair(t, legacy, modern, byHeader, func(_ *host.Config, gc *gateway.Config) {
		gc.OnClient = func(c gateway.Client, left bool) {
			events <- fmt.Sprintf("%s %s %v left=%t", c.Name, c.Era, c.Servers, left)
		}
	})
	p.play(p.servers, "files", legacy, toolsOfFiles, resourcesOfFiles)
	notes := p.play(p.notes, "notes", modern, toolsOfFiles, ``)
	if got := p.gateway.Clients(); got == nil || len(got) != 0 {
		t.Errorf("%v", got)
	}
	want := func(text string) {
		t.Helper()
		if got := <-events; got != text {
			t.Errorf("told %q, want %q", got, text)
		}
	}
	_, leave := p.bare(legacy, "files")
	want(`ed itor legacy [files] left=false`)
	all := p.speaker(modern)
	want(`editor modern [] left=false`)
	all.contains("tools/call", `{"name":"files__read"}`, "files got")
	notes.hung = map[string]bool{"tools/call": true}
	all.ask("tools/call", `{"name":"notes__read"}`)
	web := httptest.NewServer(p.gateway.Handler())
	t.Cleanup(func() {
		p.gateway.Close()
		web.Close()
	})
	s := &site{scene: p.scene, url: web.URL + "/mcp/files", client: web.Client()}
	a := s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta(`{}`, "")+`}}`, modernHeaders("tools/list", "User: ann")...)
	io.Copy(io.Discard, a.Body)
	want(`editor modern [files] left=false`)
	got := ""
	for !strings.Contains(got, "[files notes], 1 in flight") {
		got = shownClients(p.gateway.Clients())
		runtime.Gosched()
	}
	for _, line := range []string{
		`ed itor 2 bridge legacy "" at "files" [files], 0 in flight`,
		`editor 2 gateway modern "" at "" [files notes], 1 in flight`,
		`editor 2 gateway modern "ann" at "files" [files], 0 in flight`,
	} {
		if !strings.Contains(got, line) {
			t.Errorf("the clients are\n%swant %s", got, line)
		}
	}
	leave()
	want(`ed itor legacy [files] left=true`)
	if got := shownClients(p.gateway.Clients()); strings.Contains(got, "ed itor") {
		t.Error(got)
	}
}

// changing are rules that are replaced.
type changing struct{ now atomic.Pointer[policy.Rules] }

func (c *changing) Scope(by *policy.Caller, server string) policy.Scope {
	return c.now.Load().Scope(by, server)
}

func (c *changing) Decide(ctx context.Context, call *policy.Call) policy.Decision {
	return c.now.Load().Decide(ctx, call)
}

// A client is told of the lists that other rules make others for it, and of no other.
func TestAccessChanges(t *testing.T) {
	const toolsChanged, resourcesChanged = `"method":"notifications/tools/list_changed"`, `"method":"notifications/resources/list_changed"`
	for _, era := range []struct{ client, server string }{{legacy, legacy}, {legacy, modern}, {modern, legacy}, {modern, modern}} {
		for _, bare := range []bool{false, true} {
			t.Run(fmt.Sprint(era.client, " to ", era.server, ", bare ", bare), func(t *testing.T) {
				rules := new(changing)
				p := newPair(t, era.server, era.server, func(hc *host.Config, _ *gateway.Config) { hc.Deciders = []policy.Decider{rules} })
				change := func(deny ...string) {
					made, err := policy.New([]policy.Table{{Name: "editors", Match: []string{"client:ed*"}, Deny: deny}})
					if err != nil {
						t.Fatal(err)
					}
					p.gateway.ChangeAccess(func() { rules.now.Store(made) })
				}
				change("notes/delete_*")
				p.play(p.servers, "files", era.server, toolsOfFiles, resourcesOfFiles)
				p.play(p.notes, "notes", era.server, toolsOfFiles, ``)
				var c *speaker
				if bare {
					c, _ = p.bare(era.client, "files")
				} else {
					c = p.speaker(era.client)
				}
				if era.client == modern {
					c.ask("subscriptions/listen", `{"notifications":{"toolsListChanged":true,"resourcesListChanged":true}}`)
					c.hears("notifications/subscriptions/acknowledged", `"toolsListChanged":true`)
				}
				c.contains("tools/list", `{}`, `read"`, `delete_it"`)
				c.contains("resources/list", `{}`, `file:///secret`)

				change("notes/delete_*", "files/delete_*")
				c.hears(toolsChanged)
				c.contains("tools/list", `{}`, `read"`)
				c.lacks(`files__delete_it"`, `{"name":"delete_it"`)

				change("notes/delete_*", "files/DELETE_*", "resource:nothing/*") // which says the same
				change("files/delete_*", "notes/delete_*", "resource:files/file:///secret")
				c.hears(resourcesChanged)
				c.contains("resources/list", `{}`, `file:///a`)
				c.lacks("secret")

				change("files", "notes")
				heard := ""
				for range 2 {
					c.last = c.read()
					heard += c.last
				}
				if !strings.Contains(heard, toolsChanged) || !strings.Contains(heard, resourcesChanged) {
					t.Errorf("heard %s", heard)
				}
			})
		}
	}
}
