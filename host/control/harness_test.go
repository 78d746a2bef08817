//lint:file-ignore SA1019 Servers ask for samples and roots until these features are gone.

package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

func TestMain(m *testing.M) {
	if !play() {
		goleak.VerifyTestMain(m)
	}
}

// scene is a control with a server of the official SDK, which is called files.
type scene struct {
	t       *testing.T
	control *Control
	host    *host.Host
	config  host.Config
	counted chan string // what the tool count says of its end
	watched chan string // "+" or "-", and a resource: subscriptions at the server
}

func newScene(t *testing.T, change ...func(*Control, *host.Config)) *scene {
	t.Helper()
	s := &scene{t: t, counted: make(chan string, 10), watched: make(chan string, 10)}
	s.config = host.Config{
		Plugins: plugins.Builtin(), CacheDir: testenv.CodeDir(), StartTimeout: -1, Ping: -1,
		Files:     map[string]config.Plugin{"socket": {Name: "socket", File: "../../examples/transport-socket-c/socket.wasm"}},
		Reconnect: config.Reconnect{Backoff: []time.Duration{}, Failures: -1},
		Streams:   map[string]func(context.Context) (io.ReadWriteCloser, error){"files": s.dial},
	}
	s.control = New(Config{Wharf: Program{"wharf", "0.1.0"}})
	s.control.Install(&s.config)
	for _, f := range change {
		f(s.control, &s.config)
	}
	h, err := host.New(t.Context(), s.config)
	if err != nil {
		t.Fatal(err)
	}
	s.host = h
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	now := &Configuration{Plugins: s.config.Files, Reconnect: s.config.Reconnect, Servers: []host.Server{
		{Name: "files", Transport: "socket", Address: "memory:files", Protocol: "legacy"},
		{Name: "broken", Transport: "pigeon", Address: "memory:none"},
	}}
	if src := s.control.config.Source; src != nil {
		if now, err = src.Read(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.control.Open(h, *now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.control.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// dial connects to a new server.
func (s *scene) dial(context.Context) (io.ReadWriteCloser, error) {
	ours, theirs := testenv.NewDuplex()
	server := s.server()
	go func() {
		session, err := server.Connect(context.Background(), &sdk.IOTransport{Reader: theirs.PipeReader, Writer: theirs.PipeWriter}, nil)
		if err == nil {
			session.Wait()
		}
		theirs.Close()
	}()
	return ours, nil
}

// server returns a server that has one of everything.
func (s *scene) server() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "sdk", Version: "1"}, &sdk.ServerOptions{
		CompletionHandler: func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{"Ada"}}}, nil
		},
		SubscribeHandler: func(_ context.Context, r *sdk.SubscribeRequest) error {
			if r.Params.URI == "test:///secret" {
				return errors.New("it is not yours")
			}
			s.watched <- "+" + r.Params.URI
			return nil
		},
		UnsubscribeHandler: func(_ context.Context, r *sdk.UnsubscribeRequest) error {
			s.watched <- "-" + r.Params.URI
			return nil
		},
	})
	type input struct {
		Message string `json:"message"`
	}
	say := func(text string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
	}
	sdk.AddTool(server, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
		return say(in.Message), nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "count"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 3})
		<-ctx.Done()
		s.counted <- "cancelled"
		return nil, nil, ctx.Err()
	})
	sdk.AddTool(server, &sdk.Tool{Name: "steps"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		for n := range 5 {
			r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(n)})
		}
		return say("done"), nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "ask"}, func(ctx context.Context, r *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
		answer, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: in.Message, RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}})
		if err != nil {
			return say("error: " + err.Error()), nil, nil
		}
		return say(fmt.Sprint(answer.Action, answer.Content)), nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "sample"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		answer, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 5, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "hi"}}}})
		if err != nil {
			return say("error: " + err.Error()), nil, nil
		}
		return say(answer.Content.(*sdk.TextContent).Text), nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "roots"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		answer, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			return say("error: " + err.Error()), nil, nil
		}
		return say(answer.Roots[0].URI), nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "grow"}, func(ctx context.Context, r *sdk.CallToolRequest, in struct {
		What string `json:"what,omitempty"`
	}) (*sdk.CallToolResult, any, error) {
		switch in.What {
		case "tools":
			sdk.AddTool(server, &sdk.Tool{Name: "new"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
				return say("new"), nil, nil
			})
		case "resources":
			server.AddResource(&sdk.Resource{URI: "test:///new", Name: "new"}, nil)
		default:
			server.AddPrompt(&sdk.Prompt{Name: "new"}, greet)
		}
		return say("grown"), nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "edit"}, func(ctx context.Context, r *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
		return say("edited"), nil, server.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: in.Message})
	})
	server.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "who"}}}, greet)
	read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "a < b"}}}, nil
	}
	server.AddResource(&sdk.Resource{URI: "test:///note", Name: "note"}, read)
	server.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "test:///{name}", Name: "any"}, read)
	return server
}

func greet(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "hello " + r.Params.Arguments["who"]}}}}, nil
}

// message is any message of the protocol.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int
		Message string
		Data    ErrorData
	} `json:"error"`
}

// client is an editor, which the test plays.
type client struct {
	t      *testing.T
	stream *testenv.Duplex
	lines  chan message
	early  []message // that came before they were looked for
	id     int
	asks   map[string]string // the methods of its requests, by id
	ended  chan error        // the result of ServeConn
}

// editor connects another editor, which says nothing yet.
func (s *scene) editor() *client {
	s.t.Helper()
	c := s.connect()
	go c.read()
	return c
}

// connect connects an editor that reads nothing yet.
func (s *scene) connect() *client {
	s.t.Helper()
	ours, theirs := testenv.NewDuplex()
	c := &client{t: s.t, stream: theirs, lines: make(chan message, 10000), asks: make(map[string]string), ended: make(chan error, 1)}
	go func() { c.ended <- s.control.ServeConn(context.Background(), ours) }()
	s.t.Cleanup(func() { theirs.Close() })
	return c
}

func (c *client) read() {
	defer close(c.lines)
	for in := bufio.NewReader(c.stream); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if n, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			var size int
			fmt.Sscan(n, &size)
			in.ReadString('\n')
			body := make([]byte, size)
			io.ReadFull(in, body)
			line = string(body)
		}
		var m message
		if json.Unmarshal([]byte(line), &m) != nil {
			m.Method = "no JSON: " + line
		}
		c.lines <- m
	}
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.stream, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// begin sends a request and returns its id.
func (c *client) begin(method, params string) int {
	c.t.Helper()
	c.id++
	c.asks[fmt.Sprint(c.id)] = method
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.id, method, params))
	return c.id
}

// find returns the next message that is wanted; others are kept for later.
func (c *client) find(what string, want func(*message) bool) message {
	c.t.Helper()
	for i, m := range c.early {
		if want(&m) {
			c.early = append(c.early[:i:i], c.early[i+1:]...)
			return m
		}
	}
	for m := range c.lines {
		c.conforms(&m)
		if want(&m) {
			return m
		}
		c.early = append(c.early, m)
	}
	c.t.Fatalf("no %s came before the end; there were %v", what, c.early)
	return message{}
}

// answer waits for the answer to a request.
func (c *client) answer(id int) message {
	c.t.Helper()
	return c.find("answer", func(m *message) bool { return m.Method == "" && string(m.ID) == fmt.Sprint(id) })
}

// call makes a request and returns its result.
func (c *client) call(method, params string) string {
	c.t.Helper()
	m := c.answer(c.begin(method, params))
	if m.Error != nil {
		c.t.Fatalf("%s %s: %+v", method, params, *m.Error)
	}
	return string(m.Result)
}

// refused makes a request that fails with an error of a kind.
func (c *client) refused(kind Kind, method, params string) {
	c.t.Helper()
	c.wantRefused(kind, c.answer(c.begin(method, params)))
}

func (c *client) wantRefused(kind Kind, m message) {
	c.t.Helper()
	if m.Error == nil || m.Error.Data.Kind != kind {
		c.t.Errorf("got %s %+v, want an error of the kind %s", m.Result, m.Error, kind)
	}
}

// asked waits for a message of a method to the editor: a request or a notification.
func (c *client) asked(method string) message {
	c.t.Helper()
	return c.find(method, func(m *message) bool { return m.Method == method })
}

// event waits for an event of a kind that has a text.
func (c *client) event(kind EventKind, with string) (e Event) {
	c.t.Helper()
	c.find(string(kind), func(m *message) bool {
		if m.Method != methodEvent || !bytes.Contains(m.Params, []byte(with)) || !bytes.Contains(m.Params, []byte(`"kind":"`+kind)) {
			return false
		}
		e = Event{}
		json.Unmarshal(m.Params, &e)
		return e.Kind == kind
	})
	return e
}

func (c *client) reply(to message, result string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, to.ID, result))
}

// all are the capabilities of an editor that can do everything.
const all = `{"elicit":true,"sample":true,"roots":true,"openUrl":true,"prompt":true,"showCode":true,"approve":true}`

// ready connects an editor with these capabilities.
func (s *scene) ready(capabilities string) *client {
	s.t.Helper()
	c := s.editor()
	c.call("initialize", `{"protocol":[1,1],"client":{"name":"test"},"capabilities":`+capabilities+`}`)
	return c
}

func (c *client) wantHas(text string, parts ...string) {
	c.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			c.t.Errorf("%s lacks %s", text, part)
		}
	}
}
