//go:build !race

// What is counted here is memory, and the race detector has its own. One goroutine does it.

package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// puppet is a transport whose server answers each request before Send returns, with
// what the test has for the method.
type puppet struct {
	peer    *rpc.Peer
	done    chan struct{}
	answers map[string]string // what follows the id in the message
	sent    int               // bytes
	replied chan struct{}     // gets a token for each reply
}

func (p *puppet) Send(_ context.Context, m *rpc.Message) error {
	defer m.Free()
	switch m.Kind {
	case abi.Reply:
		p.replied <- struct{}{}
		return nil
	case abi.Notification:
		return nil
	}
	answer, ok := p.answers[m.Method]
	if !ok {
		answer = `"result":{}}`
	}
	p.deliver(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, m.Exchange()), answer)
	return nil
}

func (p *puppet) deliver(head, rest string) {
	text := append(append(make([]byte, 0, len(head)+len(rest)), head...), rest...)
	p.sent += len(text)
	p.peer.Deliver(0, text, true)
}

func (p *puppet) Cancel(uint32) bool                   { return false }
func (p *puppet) AfterEnd(f func()) (stop func() bool) { return afterEnd(p.done, f) }
func (p *puppet) Done() <-chan struct{}                { return p.done }
func (p *puppet) Err() error                           { return nil }
func (p *puppet) Shutdown(context.Context) error       { p.peer.Close(nil); return nil }
func (p *puppet) Leave(context.Context) error          { return nil }

// way is how a message of a server gets into a session.
type way struct {
	method string
	name   string   // where a method has several ways
	base   []string // members that the message needs, as JSON; those are left out that are filled
	legacy bool
	alike  bool                                               // it goes the way of another, and is tried when there is time
	opens  bool                                               // it is an answer to the handshake
	fault  bool                                               // it is the error of the answer
	params bool                                               // it is the params of a request or of a notification
	ask    func(ctx context.Context, s *Session) (any, error) // nil for params
}

func (w *way) String() string { return strings.TrimSpace(w.method + " " + w.name) }

func result[T any](f func(s *Session, ctx context.Context) (T, error)) func(context.Context, *Session) (any, error) {
	return func(ctx context.Context, s *Session) (any, error) { return f(s, ctx) }
}

var callsTool = func(ctx context.Context, s *Session) (any, error) {
	return s.CallTool(ctx, "echo", nil)
}

// ways are all ways. TestEveryMethodHasAWay holds them to the protocol.
func ways() []way {
	task := []string{`"taskId":"1"`, `"status":"completed"`, `"result":{"content":[]}`, `"ttlMs":1000000`}
	list := []string{`"ttlMs":1000000`}
	generic := func(method string) func(context.Context, *Session) (any, error) {
		return func(ctx context.Context, s *Session) (any, error) {
			var text json.RawMessage
			err := s.Call(ctx, method, nil, &text)
			return text, err
		}
	}
	all := []way{
		{method: mcp.MethodInitialize, base: []string{`"protocolVersion":"2025-11-25"`}, legacy: true, opens: true},
		{method: mcp.MethodDiscover, opens: true},
		{method: mcp.MethodDiscover, name: "error", base: []string{`"code":-32022`, `"message":"no"`}, opens: true, fault: true},
		{method: mcp.MethodListTools, base: list, ask: result((*Session).ListTools)},
		{method: mcp.MethodListPrompts, base: list, ask: result((*Session).ListPrompts)},
		{method: mcp.MethodListResources, base: list, ask: result((*Session).ListResources)},
		{method: mcp.MethodListTemplates, base: list, ask: result((*Session).ListResourceTemplates)},
		{method: mcp.MethodListTasks, legacy: true, ask: result((*Session).ListTasks)},
		{method: mcp.MethodCallTool, ask: callsTool},
		{method: mcp.MethodCallTool, name: "input_required", base: []string{`"resultType":"input_required"`}, ask: callsTool},
		{method: mcp.MethodCallTool, name: "task", base: append(task, `"resultType":"task"`), ask: callsTool},
		{method: mcp.MethodCallTool, name: "error", base: []string{`"code":-32000`, `"message":"no"`}, fault: true, ask: callsTool},
		{method: mcp.MethodCallTool, name: "missing capability", base: []string{`"code":-32021`, `"message":"no"`}, fault: true, ask: callsTool},
		{method: mcp.MethodCallTool, name: "unsupported version", base: []string{`"code":-32022`, `"message":"no"`}, fault: true, ask: callsTool},
		{method: mcp.MethodCallTool, name: "pages", base: []string{`"code":-32042`, `"message":"no"`}, legacy: true, fault: true, ask: callsTool},
		{method: mcp.MethodGetPrompt, ask: func(ctx context.Context, s *Session) (any, error) { return s.GetPrompt(ctx, "p", nil) }},
		{method: mcp.MethodReadResource, base: list, ask: func(ctx context.Context, s *Session) (any, error) { return s.ReadResource(ctx, "u") }},
		{method: mcp.MethodComplete, ask: func(ctx context.Context, s *Session) (any, error) { return s.Complete(ctx, mcp.CompleteParams{}) }},
		{method: mcp.MethodGetTask, base: task, ask: func(ctx context.Context, s *Session) (any, error) { return s.Task(ctx, "1") }},
		{method: mcp.MethodTaskResult, legacy: true, ask: func(ctx context.Context, s *Session) (any, error) { return s.FinishTask(ctx, "1") }},
		{method: mcp.MethodSetLevel, legacy: true, ask: func(ctx context.Context, s *Session) (any, error) { return nil, s.SetLevel(ctx, mcp.LevelInfo) }},
	}
	for _, method := range []string{mcp.MethodSubscribe, mcp.MethodUnsubscribe, mcp.MethodListen, mcp.MethodCancelTask, mcp.MethodUpdateTask} {
		all = append(all, way{method: method, ask: generic(method), alike: method != mcp.MethodListen})
	}
	for _, method := range []string{
		mcp.MethodPing, mcp.MethodListRoots, mcp.MethodCreateMessage, mcp.MethodElicit,
		mcp.NotificationCancelled, mcp.NotificationTaskStatus, mcp.NotificationTasks, mcp.NotificationProgress, mcp.NotificationMessage, mcp.NotificationToolsListChanged,
		mcp.NotificationPromptsListChanged, mcp.NotificationResourcesListChanged, mcp.NotificationResourceUpdated,
		mcp.NotificationElicitationComplete, mcp.NotificationAcknowledged,
	} {
		alike := strings.HasSuffix(method, "list_changed") || method == mcp.MethodPing || method == mcp.MethodListRoots
		all = append(all, way{method: method, legacy: true, params: true, alike: alike})
	}
	return all
}

// outwards are the methods of messages that no server sends.
var outwards = []string{mcp.NotificationInitialized, mcp.NotificationRootsListChanged}

// trial is a session on a puppet, and what it keeps of a message.
type trial struct {
	way     *way
	puppet  *puppet
	text    string
	session *Session

	mu   sync.Mutex
	kept []any
	came chan struct{} // gets a token for each callback
	err  error
}

// newTrial returns a trial of text, with a session unless the way is one of opening it.
func newTrial(t testing.TB, w *way, text string) *trial {
	tr := &trial{way: w, text: text, came: make(chan struct{}, 1), puppet: &puppet{done: make(chan struct{}), replied: make(chan struct{}, 1), answers: map[string]string{
		mcp.MethodInitialize: `"result":{"protocolVersion":"2025-11-25"}}`,
		mcp.MethodDiscover:   `"result":{"supportedVersions":["2026-07-28"]}}`,
		mcp.MethodListTools:  `"result":{"tools":[{"name":"echo"}]}}`,
		mcp.MethodGetTask:    `"result":{"taskId":"1","status":"completed","result":{"content":[]}}}`,
	}}}
	if !w.opens {
		if tr.open(t); tr.err != nil {
			t.Fatal(tr.err)
		}
	}
	tr.reset(text)
	return tr
}

// reset has the trial begin again with another text.
func (tr *trial) reset(text string) {
	switch {
	case tr.way.fault:
		tr.puppet.answers[tr.way.method] = `"error":` + text + `}`
	case !tr.way.params:
		tr.puppet.answers[tr.way.method] = `"result":` + text + `}`
	}
	tr.text, tr.kept, tr.puppet.sent = text, nil, 0
	if tr.session != nil {
		tr.session.Forget(true)
	}
}

// open opens a session that keeps whatever it is given. A modern one is over HTTP,
// where headers show arguments.
func (tr *trial) open(t testing.TB) {
	protocol, probe := mcp.Version20260728, abi.ProbeHTTP
	if tr.way.legacy {
		protocol, probe = LegacyOnly, abi.ProbeStdio
	}
	tr.session, tr.err = Open(t.Context(), setup{
		ConnectOptions: ConnectOptions{Protocol: protocol, Dial: func(_ context.Context, h rpc.Handler) (*Dialed, error) {
			tr.puppet.peer = rpc.NewPeer(rpc.Config{Link: tr.puppet, Handler: h})
			return &Dialed{Peer: tr.puppet.peer, Transport: tr.puppet, Probe: probe}, nil
		}},
		Config: Config{
			Name: "files", Client: mcp.Implementation{Name: "wharf", Version: "1"},
			Elicit: func(_ context.Context, e mcp.Elicitation) (mcp.ElicitResult, error) {
				tr.keep(e)
				return mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
			},
			Sample: func(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
				tr.keep(params)
				return json.RawMessage(`{}`), nil
			},
			Roots: func(context.Context) ([]mcp.Root, error) {
				tr.keep(nil)
				return nil, nil
			},
			Notify: func(_ string, params json.RawMessage, _ uint64) { tr.keep(params) },
			Warn:   func(text string) { tr.kept = append(tr.kept, text) }},
	})
}

func (tr *trial) keep(what any) {
	tr.mu.Lock()
	tr.kept = append(tr.kept, what)
	tr.mu.Unlock()
	select {
	case tr.came <- struct{}{}:
	default:
	}
}

// run has the message come in, and keeps what comes of it.
func (tr *trial) run(t testing.TB) {
	w := tr.way
	switch {
	case w.opens:
		tr.open(t)
	case w.params && strings.HasPrefix(w.method, "notifications/"):
		tr.puppet.deliver(`{"jsonrpc":"2.0","method":"`+w.method+`","params":`, tr.text+`}`)
		<-tr.came
	case w.params:
		tr.puppet.deliver(`{"jsonrpc":"2.0","id":7,"method":"`+w.method+`","params":`, tr.text+`}`)
		<-tr.puppet.replied
	default:
		var got any
		got, tr.err = w.ask(t.Context(), tr.session)
		tr.kept = append(tr.kept, got)
	}
}

func (tr *trial) close(t testing.TB) {
	if tr.session != nil {
		if err := tr.session.Close(); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
}
