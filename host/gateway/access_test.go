package gateway_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/audit"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/policy"
)

// decidedBy has tables decide who may call what.
func decidedBy(t *testing.T, tables ...policy.Table) func(*host.Config, *gateway.Config) {
	rules, err := policy.New(tables)
	if err != nil {
		t.Fatal(err)
	}
	return func(hc *host.Config, _ *gateway.Config) { hc.Deciders = []policy.Decider{rules} }
}

const (
	toolsOfFiles     = `{"name":"read","description":"Reads a file","inputSchema":{"type":"object"}},{"name":"delete_it","description":"Deletes a file","inputSchema":{"type":"object"}}`
	resourcesOfFiles = `{"uri":"file:///a","name":"a"},{"uri":"file:///secret","name":"s"}`
)

// S8: what a client may not call is neither listed nor called, also through search, completion and
// subscriptions. Other clients of the same user are not bound by it.
func TestS8AccessOfAClient(t *testing.T) {
	for _, era := range []struct{ client, server string }{{legacy, legacy}, {legacy, modern}, {modern, legacy}, {modern, modern}} {
		t.Run(era.client+" to "+era.server, func(t *testing.T) {
			p := newPair(t, era.server, era.server, searching("auto"), decidedBy(t,
				policy.Table{Name: "editors", Match: []string{"client:edit*"}, Deny: []string{"files/delete_*", "resource:*/file:///s*", "notes"}},
				policy.Table{Name: "bridges", Match: []string{"bridge"}, Deny: []string{"*"}}))
			p.play(p.servers, "files", era.server, toolsOfFiles, resourcesOfFiles)
			notes := p.play(p.notes, "notes", era.server, toolsOfFiles, ``)
			c := p.speaker(era.client)
			c.contains("tools/list", `{}`, `"tools":[{"name":"files__read",`)
			c.lacks("delete_it", "notes__")
			c.contains("resources/list", `{}`, `"resources":[{"uri":"file:///a","name":"a"}]`)
			c.contains("tools/call", `{"name":"files__read"}`, `files got `)
			c.contains("resources/read", `{"uri":"file:///a"}`, `"text":"files"`)
			for _, denied := range [][2]string{
				{"tools/call", `{"name":"files__delete_it"}`},
				{"tools/call", `{"name":"files__DELETE_it"}`},
				{"tools/call", `{"name":"call_tool","arguments":{"name":"files__delete_it"}}`},
				{"tools/call", `{"name":"notes__read"}`},
				{"resources/read", `{"uri":"file:///secret"}`},
				{"resources/read", `{"uri":"file:///%73ecret"}`},
				{"completion/complete", `{"ref":{"type":"ref/resource","uri":"file:///secret"},"argument":{"name":"a","value":"b"}}`},
			} {
				c.contains(denied[0], denied[1], `"error":{`)
				if !strings.Contains(c.last, "may not call") && !strings.Contains(c.last, "no server lists") {
					t.Errorf("%s %s: %s", denied[0], denied[1], c.last)
				}
			}
			c.contains("tools/call", `{"name":"files__delete_it"}`, `access.editors: deny \"files/delete_*\"`)
			c.contains("tools/call", `{"name":"notes__read"}`, `may not call anything of notes: access.editors: deny \"notes\"`)
			c.contains("tools/call", `{"name":"describe_tool","arguments":{"name":"files__delete_it"}}`, `"error":{`, "Unknown tool")
			c.contains("tools/call", `{"name":"search_tools","arguments":{"query":"deletes a file","limit":20}}`, `"structuredContent":{"tools":[`)
			c.lacks("delete_it", "notes__")
			if era.client == legacy {
				c.contains("resources/subscribe", `{"uri":"file:///secret"}`, `"error":{`, "may not call")
				c.contains("resources/subscribe", `{"uri":"file:///a"}`, `"result":{}`)
			} else {
				c.ask("subscriptions/listen", `{"notifications":{"resourceSubscriptions":["file:///secret"]}}`)
				c.hears("notifications/subscriptions/acknowledged", `"notifications":{}`)
			}
			notes.mu.Lock()
			defer notes.mu.Unlock()
			if notes.starts != 0 {
				t.Errorf("a server that the client may not reach was started %d times", notes.starts)
			}
		})
	}
}

// lacks compares the newest message with texts that it must not have.
func (c *speaker) lacks(texts ...string) {
	c.t.Helper()
	for _, text := range texts {
		if strings.Contains(c.last, text) {
			c.t.Fatalf("got  %s\nwith %s", c.last, text)
		}
	}
}

// S8: a principal without a rule may call nothing and starts nothing, and none sees the tasks of another.
func TestS8AccessOfPrincipals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Open(path, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := newPair(t, modern, modern, byHeader, func(hc *host.Config, _ *gateway.Config) { hc.Audit = log }, decidedBy(t,
		policy.Table{Name: "ann", Match: []string{"principal:ann", "principal:eve"}, Allow: []string{"files/read", "files/begin"}}))
	p.gateway.Lack("files", "it was away")
	p.gateway.Lack("notes", "it was away too")
	files, notes := p.play(p.servers, "files", modern, toolsOfFiles, resourcesOfFiles), p.play(p.notes, "notes", modern, toolsOfFiles, ``)
	web := httptest.NewServer(p.gateway.Handler())
	t.Cleanup(func() {
		p.gateway.Close()
		web.Close()
	})
	ask := func(who, path, method, params string, headers ...string) string {
		s := &site{scene: p.scene, url: web.URL + path, client: web.Client()}
		a := s.post(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+modernMeta(`{}`, "")+params+`}}`, modernHeaders(method, append(headers, "User: "+who)...)...)
		body, _ := io.ReadAll(a.Body)
		return string(body)
	}
	call := func(who, path, tool string) string {
		return ask(who, path, "tools/call", fmt.Sprintf(`,"name":%q`, tool), "Mcp-Name: "+tool)
	}
	for _, got := range []string{
		ask("bob", "/mcp", "tools/list", ""), call("bob", "/mcp", "files__read"), call("bob", "/mcp/files", "read"), ask("bob", "/mcp/files", "tools/list", ""),
		ask("bob", "/mcp/files", "server/discover", ""), ask("bob", "/mcp", "resources/list", ""), ask("bob", "/mcp", "server/discover", ""),
	} {
		if strings.Contains(got, `"name":"files`) || strings.Contains(got, "files got") || strings.Contains(got, "instructions") || strings.Contains(got, "file:///") || strings.Contains(got, "access.") || strings.Contains(got, "no access names") {
			t.Errorf("bob got %s", got)
		}
	}
	for who, want := range map[string]string{"ann": `are missing: files"`, "": `are missing: files (it was away); notes (it was away too)"`} {
		if got := ask(who, "/mcp", "server/discover", ""); !strings.Contains(got, want) {
			t.Errorf("%q is told %s", who, got)
		}
	}
	if lines, err := os.ReadFile(path); err != nil || !strings.Contains(string(lines), `"server":"files","method":"tools/call","name":"read",`) || strings.Contains(string(lines), "files__read") {
		t.Errorf("of the calls of bob the audit log has %s, %v", lines, err)
	}
	for _, f := range []*fake{files, notes} {
		f.mu.Lock()
		if f.starts != 0 {
			t.Errorf("%s was started %d times for a principal without a rule", f.name, f.starts)
		}
		f.mu.Unlock()
	}
	if got := ask("ann", "/mcp", "tools/list", ""); strings.Count(got, `"wharf/server"`) != 1 || !strings.Contains(got, `"files__read"`) {
		t.Errorf("ann was listed %s", got)
	}
	if got := call("ann", "/mcp", "files__read"); !strings.Contains(got, "files got") {
		t.Errorf("ann got %s", got)
	}
	if got := call("ann", "/mcp/files", "delete_it"); !strings.Contains(got, "may not call") || strings.Contains(got, "access.") {
		t.Errorf("ann got %s", got)
	}
	if got := call("ann", "/mcp/files", "begin"); !strings.Contains(got, `"taskId":"t1"`) {
		t.Fatalf("ann got %s", got)
	}
	for who, want := range map[string]string{"ann": `"status":"working"`, "eve": "may not call", "": `"status":"working"`} {
		if got := ask(who, "/mcp/files", "tasks/get", `,"taskId":"t1"`); !strings.Contains(got, want) {
			t.Errorf("%q asked for the task of ann, and got %s", who, got)
		}
	}
}
