package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/plugins"
)

// everythingTools are the tools of server-everything, for a client that offers
// all that one can offer, and arguments to call them with. Those without any are
// called elsewhere in the test.
var everythingTools = map[string]map[string]any{
	"echo":                           {"message": "hello"},
	"get-annotated-message":          {"messageType": "error", "includeImage": true},
	"get-env":                        {},
	"get-resource-links":             {"count": 2},
	"get-resource-reference":         {"resourceType": "Blob", "resourceId": 1},
	"get-structured-content":         {"location": "Chicago"},
	"get-sum":                        {"a": 2, "b": 40},
	"get-tiny-image":                 {},
	"gzip-file-as-resource":          {"name": "a.gz", "data": "data:text/plain,hello", "outputType": "resource"},
	"get-roots-list":                 {},
	"trigger-elicitation-request":    {},
	"trigger-url-elicitation":        {"url": "https://example.com/"},
	"trigger-sampling-request":       {"prompt": "hello"},
	"simulate-research-query":        {"topic": "tea", "ambiguous": true}, // runs only as a task, which asks
	"toggle-simulated-logging":       nil,
	"toggle-subscriber-updates":      nil,
	"trigger-long-running-operation": nil,
}

// visitor is a client that offers everything, and what it was asked and told.
type visitor struct {
	host    *host.Host
	session *host.Session
	asked   chan string
	logged  chan mcp.LogMessage
	answer  atomic.Pointer[mcp.ElicitResult] // to all that it is asked
	roots   atomic.Pointer[[]mcp.Root]
}

// TestInteropSurface drives the whole of server-everything with the library, over
// each transport that it has; see TestInterop for what it wants.
func TestInteropSurface(t *testing.T) {
	dir := os.Getenv("WHARF_INTEROP")
	if dir == "" {
		t.Skip("WHARF_INTEROP names no folder with servers")
	}
	script, err := filepath.Abs(filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js"))
	if err != nil {
		t.Fatal(err)
	}
	for name, entry := range map[string]host.Server{
		"stdio": {Command: "node", Args: []string{script}},
		"http":  {URL: startNode(t, script, "streamableHttp") + "/mcp"},
		"sse":   {URL: startNode(t, script, "sse") + "/sse", Strategy: "sse-only"},
	} {
		entry.Name = name
		t.Run(name, func(t *testing.T) {
			v := newVisitor(t, entry)
			v.callTools(t)
			v.fillForms(t)
			v.goToPages(t)
			v.changeRoots(t)
			v.read(t)
			v.fillPrompts(t)
			v.followProgress(t)
			v.followChanges(t)
		})
	}
}

func newVisitor(t *testing.T, entry host.Server) *visitor {
	v := &visitor{asked: make(chan string, 100), logged: make(chan mcp.LogMessage, 100)}
	v.answer.Store(&mcp.ElicitResult{Action: mcp.ElicitDecline})
	v.roots.Store(&[]mcp.Root{{URI: "file:///"}})
	h, err := host.New(t.Context(), host.Config{
		Plugins: plugins.Builtin(),
		OneShot: true,
		Client: host.Client{
			Elicit: func(_ context.Context, _ string, e mcp.Elicitation) (mcp.ElicitResult, error) {
				v.asked <- "elicit " + e.Mode
				return *v.answer.Load(), nil
			},
			Sample: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				v.asked <- "sample"
				return json.RawMessage(`{"model":"m","role":"assistant","content":{"type":"text","text":"hm"}}`), nil
			},
			Roots: func(context.Context, string) ([]mcp.Root, error) { return *v.roots.Load(), nil },
		},
		Event: func(e host.Event) {
			if e.Method == mcp.NotificationMessage {
				var m mcp.LogMessage
				json.Unmarshal(e.Params, &m)
				v.logged <- m
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	v.host = h
	t.Cleanup(func() { h.Close() })
	if v.session, err = h.Connect(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	return v
}

// tools lists the tools when all of them are there: some the server adds only
// when it has seen what the client offers.
func (v *visitor) tools(t *testing.T) []mcp.Tool {
	sub, err := v.session.Subscribe(t.Context(), mcp.Filter{Tools: true})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	for {
		tools, err := v.session.ListTools(t.Context())
		if err != nil || len(tools) >= len(everythingTools) {
			return tools
		}
		if _, err := sub.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// callTools calls every tool that the server lists.
func (v *visitor) callTools(t *testing.T) {
	tools := v.tools(t)
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
		args, known := everythingTools[tool.Name]
		if !known {
			t.Errorf("no test calls %s", tool.Name)
		}
		if args == nil {
			continue
		}
		if result, err := v.session.CallTool(t.Context(), tool.Name, args); err != nil || result.IsError {
			t.Errorf("%s: %+v, %v", tool.Name, result, err)
		}
	}
	if want := slices.Sorted(maps.Keys(everythingTools)); !slices.Equal(slices.Sorted(slices.Values(names)), want) {
		t.Errorf("tools are %q, want %q", names, want)
	}
	asked := make(map[string]int)
	for range len(v.asked) {
		asked[<-v.asked]++
	}
	if want := map[string]int{"elicit form": 2, "elicit url": 1, "sample": 1}; !maps.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
}

// text calls a tool and returns all that it says.
func (v *visitor) text(t *testing.T, tool string, args map[string]any) string {
	t.Helper()
	result, err := v.session.CallTool(t.Context(), tool, args)
	if err != nil || result.IsError {
		t.Errorf("%s: %+v, %v", tool, result, err)
		return ""
	}
	var said []string
	for _, c := range result.Content {
		said = append(said, c.Text)
	}
	return strings.Join(said, "\n")
}

// fillForms has what the person and the model answer come back from the server.
func (v *visitor) fillForms(t *testing.T) {
	v.answer.Store(&mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"name": "Ada", "check": true, "integer": 42}})
	if got := v.text(t, "trigger-elicitation-request", nil); !strings.Contains(got, "Name: Ada") {
		t.Errorf("the form came back as %s", got)
	}
	if got := v.text(t, "trigger-sampling-request", map[string]any{"prompt": "hello"}); !strings.Contains(got, `"text": "hm"`) {
		t.Errorf("the model's answer came back as %s", got)
	}
	if got := v.text(t, "simulate-research-query", map[string]any{"topic": "tea", "ambiguous": true}); !strings.Contains(got, "tea") {
		t.Errorf("the task ended with %s", got)
	}
	if tasks, err := v.session.ListTasks(t.Context()); err != nil || len(tasks) == 0 {
		t.Errorf("%d tasks, %v", len(tasks), err)
	}
}

// goToPages has the server send the person to a page before it does anything, in
// an error, and then to another one, in a request.
func (v *visitor) goToPages(t *testing.T) {
	for len(v.asked) > 0 {
		<-v.asked
	}
	v.answer.Store(&mcp.ElicitResult{Action: mcp.ElicitAccept})
	args := map[string]any{"url": "https://example.com/", "elicitationId": "7", "errorPath": true}
	if got := v.text(t, "trigger-url-elicitation", args); !strings.Contains(got, "completed the URL elicitation") || len(v.asked) != 2 {
		t.Errorf("asked %d times, and then: %s", len(v.asked), got)
	}
}

// changeRoots tells the server that the roots are others.
func (v *visitor) changeRoots(t *testing.T) {
	v.roots.Store(&[]mcp.Root{{URI: "file:///"}, {URI: "file:///new"}})
	if err := v.host.RootsChanged(t.Context()); err != nil {
		t.Error(err)
	}
	for m := range v.logged {
		if strings.Contains(string(m.Data), "2 root(s)") {
			break
		}
	}
	if got := v.text(t, "get-roots-list", nil); !strings.Contains(got, "file:///new") {
		t.Errorf("the server knows %s", got)
	}
}

// read reads every resource, and one of each template.
func (v *visitor) read(t *testing.T) {
	resources, err := v.session.ListResources(t.Context())
	if err != nil || len(resources) == 0 {
		t.Fatalf("%d resources, %v", len(resources), err)
	}
	uris := []string{"demo://resource/dynamic/text/1", "demo://resource/dynamic/blob/1"}
	for _, r := range resources {
		uris = append(uris, r.URI)
	}
	for _, uri := range uris {
		if got, err := v.session.ReadResource(t.Context(), uri); err != nil || len(got.Contents) == 0 || got.Contents[0].Text+got.Contents[0].Blob == "" {
			t.Errorf("%s: %+v, %v", uri, got, err)
		}
	}
	templates, err := v.session.ListResourceTemplates(t.Context())
	if err != nil || len(templates) != 2 {
		t.Errorf("%d templates, %v", len(templates), err)
	}
	for _, template := range templates {
		found, err := v.session.Complete(t.Context(), mcp.CompleteParams{
			Ref: mcp.ResourceRef(template.URITemplate), Argument: mcp.Argument{Name: "resourceId", Value: "7"},
		})
		if err != nil || !slices.Equal(found.Values, []string{"7"}) {
			t.Errorf("%s: %+v, %v", template.URITemplate, found, err)
		}
	}
	if err := v.session.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// fillPrompts gets every prompt, with what the server proposes for its blanks.
func (v *visitor) fillPrompts(t *testing.T) {
	prompts, err := v.session.ListPrompts(t.Context())
	if err != nil || len(prompts) != 4 {
		t.Fatalf("%d prompts, %v", len(prompts), err)
	}
	for _, p := range prompts {
		settled := make(map[string]string)
		for _, argument := range p.Arguments {
			found, err := v.session.Complete(t.Context(), mcp.CompleteParams{
				Ref: mcp.PromptRef(p.Name), Argument: mcp.Argument{Name: argument.Name},
				Context: &mcp.CompleteContext{Arguments: settled},
			})
			settled[argument.Name] = "1"
			if err == nil && len(found.Values) > 0 {
				settled[argument.Name] = found.Values[0]
			}
		}
		if got, err := v.session.GetPrompt(t.Context(), p.Name, settled); err != nil || len(got.Messages) == 0 {
			t.Errorf("%s with %v: %+v, %v", p.Name, settled, got, err)
		}
	}
}

// followProgress hears two words of progress and leaves.
func (v *visitor) followProgress(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var heard []mcp.Progress
	_, err := v.session.CallTool(host.WithOptions(ctx, host.RequestOptions{Progress: func(p mcp.Progress) {
		if len(heard) == 2 {
			return // the call has not heard yet that we have left
		}
		if heard = append(heard, p); len(heard) == 2 {
			cancel()
		}
	}}), "trigger-long-running-operation", map[string]any{"duration": 60, "steps": 120})
	want := []mcp.Progress{{Done: 1, Total: 120}, {Done: 2, Total: 120}}
	if !errors.Is(err, context.Canceled) || !slices.Equal(heard, want) {
		t.Errorf("heard %+v, %v", heard, err)
	}
}

// followChanges has the server tell of a resource and log something, which it
// does every five seconds once it is asked to.
func (v *visitor) followChanges(t *testing.T) {
	const uri = "demo://resource/dynamic/text/1"
	if err := v.session.SetLevel(t.Context(), mcp.LevelDebug); err != nil {
		t.Fatal(err)
	}
	sub, err := v.session.Subscribe(t.Context(), mcp.Filter{Tools: true, URIs: []string{uri}})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	for len(v.logged) > 0 {
		<-v.logged
	}
	for _, tool := range []string{"toggle-subscriber-updates", "toggle-simulated-logging"} {
		if _, err := v.session.CallTool(t.Context(), tool, nil); err != nil {
			t.Error(err)
		}
	}
	if c, err := sub.Next(t.Context()); err != nil || c != (mcp.Change{Kind: mcp.ResourceUpdated, URI: uri}) {
		t.Errorf("%+v, %v", c, err)
	}
	if m := <-v.logged; !slices.Contains(mcp.Levels, m.Level) {
		t.Errorf("%+v", m)
	}
}
