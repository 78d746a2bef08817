//lint:file-ignore SA1019 Servers log until the feature is gone.

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host"
	ours "github.com/wharf-mcp/wharf/host/mcp"
)

func init() { servers["surface"] = serveSurface }

const noteURI = "test:///note"

func serveSurface() { newSurface(nil).Run(context.Background(), &mcp.StdioTransport{}) }

// newSurface returns a server of the official SDK that has one of everything. It
// does not cancel tools of callers that left over HTTP; stop does.
func newSurface(stop <-chan struct{}) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "surface", Version: "1"}, &mcp.ServerOptions{
		Instructions:       "be kind",
		PageSize:           2,
		CompletionHandler:  complete,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	for _, name := range []string{"note", "a", "b", "c", "d"} {
		s.AddResource(&mcp.Resource{URI: "test:///" + name, Name: name, MIMEType: "text/plain"}, readNote)
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test:///{name}", Name: "any"}, readNote)
	s.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}}}, greet)
	mcp.AddTool(s, &mcp.Tool{Name: "count"}, count(stop))
	mcp.AddTool(s, &mcp.Tool{Name: "log"}, logs)
	mcp.AddTool(s, &mcp.Tool{Name: "change"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		s.AddPrompt(&mcp.Prompt{Name: "new"}, greet)
		return &mcp.CallToolResult{}, nil, s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: noteURI})
	})
	return s
}

func readNote(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	if strings.HasSuffix(r.Params.URI, "/missing") {
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "text of " + r.Params.URI}}}, nil
}

func greet(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	text := &mcp.TextContent{Text: "hello " + r.Params.Arguments["who"]}
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: text}}}, nil
}

func complete(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	var values []string
	for _, name := range []string{"Ada", "Alan", "Grace"} {
		if strings.HasPrefix(name, r.Params.Argument.Value) {
			values = append(values, name)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}

// count tells its progress and goes on until the client has left.
func count(stop <-chan struct{}) mcp.ToolHandlerFor[struct{}, any] {
	return func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		for n := range 3 {
			r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: float64(n + 1), Total: 3, Message: "counting",
			})
		}
		select {
		case <-ctx.Done():
		case <-stop:
		}
		return &mcp.CallToolResult{}, nil, nil
	}
}

func logs(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "debug", Data: "too low"})
	r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Data: "loud enough"})
	return &mcp.CallToolResult{}, nil, nil
}

// overAll runs a test with the server over stdio and HTTP, in both eras.
func overAll(t *testing.T, test func(t *testing.T, session *host.Session, logged func() ours.LogMessage)) {
	modern, _ := surfaceSite(t, &mcp.StreamableHTTPOptions{Stateless: true})
	legacy, listened := surfaceSite(t, nil)
	entries := map[string]host.Server{
		"stdio, modern": server("surface"),
		"stdio, legacy": server("surface"),
		"http, modern":  {Name: "surface", URL: modern},
		"http, legacy":  {Name: "surface", URL: legacy},
	}
	for name, entry := range entries {
		t.Run(name, func(t *testing.T) {
			if strings.HasSuffix(name, "legacy") {
				entry.Protocol = "legacy"
			}
			heard := make(chan ours.LogMessage, 10)
			h := newHost(t, host.Config{Event: func(e host.Event) {
				if e.Method == ours.NotificationMessage {
					var m ours.LogMessage
					json.Unmarshal(e.Params, &m)
					heard <- m
				}
			}})
			session := connect(t, h, entry)
			if era := string(session.Info().Era); !strings.HasSuffix(name, era) {
				t.Fatalf("the era is %s", era)
			}
			if entry.URL == legacy {
				<-listened
			}
			test(t, session, func() ours.LogMessage { return <-heard })
		})
	}
}

// surfaceSite serves a surface over HTTP until the test ends. listened is closed when a
// client hears what belongs to no request. A client waits for that a moment only, and
// what the server tells before it is heard.
func surfaceSite(t *testing.T, o *mcp.StreamableHTTPOptions) (url string, listened <-chan struct{}) {
	stop, heard := make(chan struct{}), make(chan struct{})
	s := newSurface(stop)
	site := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o)
	begun := sync.OnceFunc(func() { close(heard) })
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w = changingServer{w, begun}
		}
		site.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		close(stop)
		for session := range s.Sessions() {
			session.Close()
		}
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL, heard
}

// changingServer is a response that says when it begins.
type changingServer struct {
	http.ResponseWriter
	begun func()
}

func (h changingServer) WriteHeader(status int) {
	h.ResponseWriter.WriteHeader(status)
	h.begun()
}

// Unwrap is for [http.ResponseController].
func (h changingServer) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func TestSurface(t *testing.T) {
	overAll(t, func(t *testing.T, s *host.Session, _ func() ours.LogMessage) {
		ctx := t.Context()
		resources, err := s.ListResources(ctx)
		if err != nil || len(resources) != 5 {
			t.Errorf("%d resources on three pages, %v", len(resources), err)
		}
		if templates, err := s.ListResourceTemplates(ctx); err != nil || len(templates) != 1 || templates[0].URITemplate != "test:///{name}" {
			t.Errorf("%+v, %v", templates, err)
		}
		for _, r := range append(resources, ours.Resource{URI: "test:///of-the-template"}) {
			got, err := s.ReadResource(ctx, r.URI)
			if err != nil || len(got.Contents) != 1 || got.Contents[0].Text != "text of "+r.URI {
				t.Errorf("%s: %+v, %v", r.URI, got, err)
			}
		}
		var no *host.RPCError
		if _, err := s.ReadResource(ctx, "test:///missing"); !errors.As(err, &no) {
			t.Error(err)
		}
		if prompts, err := s.ListPrompts(ctx); err != nil || prompts[0].Name != "greet" || !prompts[0].Arguments[0].Required {
			t.Errorf("%+v, %v", prompts, err)
		}
		prompt, err := s.GetPrompt(ctx, "greet", map[string]string{"who": "Ada"})
		if err != nil || prompt.Messages[0].Content.Text != "hello Ada" {
			t.Errorf("%+v, %v", prompt, err)
		}
		found, err := s.Complete(ctx, ours.CompleteParams{Ref: ours.PromptRef("greet"), Argument: ours.Argument{Name: "who", Value: "A"}})
		if err != nil || !slices.Equal(found.Values, []string{"Ada", "Alan"}) {
			t.Errorf("%+v, %v", found, err)
		}
		if err := s.Ping(ctx); err != nil {
			t.Error(err)
		}
		if s.Info().Instructions != "be kind" {
			t.Error(s.Info().Instructions)
		}
	})
}

// TestProgressAndCancel hears three words of progress and leaves.
func TestProgressAndCancel(t *testing.T) {
	overAll(t, func(t *testing.T, s *host.Session, _ func() ours.LogMessage) {
		ctx, cancel := context.WithCancel(t.Context())
		var heard []ours.Progress
		_, err := s.CallTool(host.WithOptions(ctx, host.RequestOptions{Progress: func(p ours.Progress) {
			if heard = append(heard, p); p.Done == p.Total {
				cancel()
			}
		}}), "count", nil)
		if !errors.Is(err, context.Canceled) || len(heard) != 3 || heard[0] != (ours.Progress{Done: 1, Total: 3, Message: "counting"}) {
			t.Errorf("%v after %+v", err, heard)
		}
	})
}

func TestLevel(t *testing.T) {
	overAll(t, func(t *testing.T, s *host.Session, logged func() ours.LogMessage) {
		if err := s.SetLevel(t.Context(), ours.LevelWarning); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CallTool(t.Context(), "log", nil); err != nil {
			t.Error(err)
		}
		if m := logged(); m.Level != ours.LevelWarning || string(m.Data) != `"loud enough"` {
			t.Errorf("%+v", m)
		}
	})
}

func TestSubscribe(t *testing.T) {
	overAll(t, func(t *testing.T, s *host.Session, _ func() ours.LogMessage) {
		sub, err := s.Subscribe(t.Context(), ours.Filter{Prompts: true, URIs: []string{noteURI}})
		if err != nil {
			t.Fatal(err)
		}
		if got := sub.Honoured(); !got.Prompts || !slices.Equal(got.URIs, []string{noteURI}) {
			t.Errorf("honours %+v", got)
		}
		var called sync.WaitGroup
		called.Go(func() { s.CallTool(t.Context(), "change", nil) })
		heard := make(map[ours.Change]bool)
		for len(heard) < 2 {
			c, err := sub.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			heard[c] = true
		}
		called.Wait()
		if !heard[ours.Change{Kind: ours.PromptsChanged}] || !heard[ours.Change{Kind: ours.ResourceUpdated, URI: noteURI}] {
			t.Errorf("heard %v", heard)
		}
		sub.Close()
		if _, err := sub.Next(t.Context()); !errors.Is(err, host.ErrClosed) {
			t.Error(err)
		}
	})
}

func TestUnsupported(t *testing.T) {
	for _, protocol := range []string{"", "legacy"} {
		entry := server("sdk")
		entry.Protocol = protocol
		s := connect(t, newHost(t, host.Config{}), entry)
		if _, err := s.ListResources(t.Context()); !errors.Is(err, host.ErrUnsupported) || errors.Is(err, host.ErrUnreachable) {
			t.Errorf("%q: %v", protocol, err)
		}
	}
}
