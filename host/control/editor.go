package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// editor is the connection of an editor. It is the handler of its peer.
type editor struct {
	control *Control
	number  uint64          // names the editor as the caller of its calls
	ctx     context.Context // ends with ServeConn

	peer *rpc.Peer // set before the first message comes

	// The first initialize that is right settles these, on the goroutine that reads. Only what arrived
	// after it looks at hello.
	initialized atomic.Uint64 // its arrival; 0 before
	hello       InitializeParams
	admitted    sync.Once // into the control

	asked  atomic.Int32 // requests to the editor that wait for an answer
	offers offers       // of servers/add

	gone bool // the control has forgotten it; under the mutex of the control

	telling sync.Mutex   // held while a stream begins or ends
	events  *eventStream // nil while it is told none
	left    bool         // it is told no more events
}

// eventStream is the goroutine that tells an editor of events.
type eventStream struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func newEditor(ctx context.Context, c *Control) *editor {
	return &editor{control: c, number: c.numbers.Add(1), ctx: ctx}
}

// leave returns when nothing runs for the editor any more.
func (e *editor) leave() {
	e.stopEvents()
	e.control.forget(e)
}

// Admit sees requests in the order of arrival. The first initialize that is right settles the version:
// requests behind it need not wait for its answer.
func (e *editor) Admit(in *rpc.Incoming) {
	if in.Method != methodInitialize || e.initialized.Load() != 0 {
		return
	}
	if hello, err := readInitialize(in.Params); err == nil {
		e.hello = *hello
		e.initialized.Store(in.Arrival())
	}
}

// Over is for [rpc.Admitter].
func (e *editor) Over(*rpc.Incoming, bool) {}

// Request answers a request of the editor.
func (e *editor) Request(ctx context.Context, in *rpc.Incoming) (rpc.Appender, error) {
	counts := &e.control.counts
	counts.requests.Add(1)
	result, err := e.serve(ctx, in)
	text := written(result)
	if err == nil && text == nil {
		text, err = encode(result)
	}
	if err != nil {
		counts.failed.Add(1)
		return nil, faultOf(ctx, e.control.host, err)
	}
	return rpc.Raw(text), nil
}

// written returns the bytes of a result that a server has written and that is passed on whole, or nil.
func written(result any) []byte {
	switch r := result.(type) {
	case *mcp.CallToolResult:
		if r != nil {
			return r.Raw
		}
	case *mcp.ReadResourceResult:
		if r != nil {
			return r.Raw
		}
	case *mcp.GetPromptResult:
		if r != nil {
			return r.Raw
		}
	case json.RawMessage:
		return r
	}
	return nil
}

func (e *editor) serve(ctx context.Context, in *rpc.Incoming) (any, error) {
	begun := e.initialized.Load()
	if in.Method == methodInitialize {
		return e.initialize(in, begun)
	}
	if begun == 0 || in.Arrival() < begun {
		return nil, &fault{CodeNotInitialized, in.Method + ": expected initialize first", ErrorData{
			Kind: KindNotInitialized, Hint: "send initialize with the versions of the protocol that the editor speaks"}}
	}
	m, known := methods()[in.Method]
	if !known {
		return nil, &fault{CodeUnknownMethod, fmt.Sprintf("there is no method %q", in.Method), ErrorData{
			Kind: KindUnknownMethod, Hint: "the result of initialize lists the methods"}}
	}
	e.enter()
	if e.control.host.NeedsCaller() {
		ctx = policy.WithCaller(ctx, e.caller())
	}
	return m.serve(host.WithOptions(ctx, host.RequestOptions{Caller: e.number}), e, in.Params)
}

// initialize answers initialize. begun is the arrival of the one that has settled the version.
func (e *editor) initialize(in *rpc.Incoming, begun uint64) (any, error) {
	if _, err := readInitialize(in.Params); err != nil {
		return nil, err
	}
	if in.Arrival() != begun {
		return nil, &fault{CodeInvalidRequest, "initialize was answered before", ErrorData{
			Kind: KindAlreadyInitialized, Hint: "an editor that begins anew opens another connection"}}
	}
	e.enter()
	return &InitializeResult{
		Protocol: NewestVersion, Wharf: e.control.config.Wharf, Events: e.control.events.position(), Methods: methodNames(),
	}, nil
}

// enter has the control know the editor as the one that asked last.
func (e *editor) enter() {
	e.admitted.Do(func() {
		e.control.begin(e)
		e.control.admit(e)
	})
	e.control.touch(e)
}

// readInitialize reads the params of an initialize. It returns an error if no version is known to both.
func readInitialize(params []byte) (*InitializeParams, error) {
	var p InitializeParams
	if err := readParams(methodInitialize, params, &p); err != nil {
		return nil, err
	}
	if len(p.Protocol) != 2 || p.Protocol[0] > p.Protocol[1] {
		return nil, invalid(KindParams, "write \"protocol\": [1, 1]", "initialize: expected protocol to be the oldest and the newest version that the editor speaks")
	}
	if p.Protocol[0] > NewestVersion || p.Protocol[1] < OldestVersion {
		return nil, &fault{
			CodeInvalidParams, fmt.Sprintf("initialize: the editor speaks versions %d to %d of the protocol, and this Wharf %d to %d",
				p.Protocol[0], p.Protocol[1], OldestVersion, NewestVersion),
			ErrorData{Kind: KindVersion, Hint: "update Wharf or the plugin of the editor, whichever is older", Supported: []int{OldestVersion, NewestVersion}},
		}
	}
	return &p, nil
}

const hintSchema = "`wharf control --schema` prints what each method takes"

// readParams decodes the params of a method. Without params, it is as if they were an empty object. A member that
// is kept as it is written, such as the arguments of a call, is long and is not decoded.
func readParams(method string, params []byte, into any) error {
	if none(params) {
		params = []byte("{}")
	}
	if params[0] != '{' {
		return invalid(KindParams, hintSchema, "%s: expected params to be an object", method)
	}
	err := json.Unmarshal(keepRaw(params, into), into)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" { // whose text has names of Go
		return invalid(KindParams, hintSchema, "%s: %s cannot be of the JSON type %s", method, wrong.Field, wrong.Value)
	}
	if err != nil {
		return invalid(KindParams, hintSchema, "%s: %v", method, err)
	}
	return nil
}

// rawField is a field of params that is kept as it is written.
type rawField struct {
	member string
	value  *json.RawMessage
}

// keepRaw copies the members of params that are kept as they are written into their fields, and returns the other
// members as an object.
func keepRaw(params []byte, into any) []byte {
	var kept []rawField
	fields := reflect.ValueOf(into).Elem()
	for i := range fields.NumField() {
		if field, ok := fields.Field(i).Addr().Interface().(*json.RawMessage); ok {
			member, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
			kept = append(kept, rawField{member, field})
		}
	}
	if len(kept) == 0 {
		return params
	}
	rest := []byte{'{'}
	r := strictjson.Read(params)
	for name := range r.Object() {
		value := r.Raw()
		same := func(f rawField) bool { return strings.EqualFold(f.member, string(name)) } // package json compares names so
		if at := slices.IndexFunc(kept, same); at >= 0 {
			*kept[at].value = bytes.Clone(value)
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(strictjson.AppendString(rest, string(name)), ':'), value...)
	}
	return append(rest, '}')
}

// none reports whether something that may be left out is null, or an empty list. That is what an editor
// writes whose language has one empty table for lists and objects, such as Lua.
func none(text []byte) bool {
	switch string(text) {
	case "", "null", "[]":
		return true
	}
	return false
}

// object returns what the editor wrote for a member that is an object and may be left out, or nil for none.
func object(method, member string, text json.RawMessage) (any, error) {
	switch {
	case none(text):
		return nil, nil
	case text[0] != '{':
		return nil, invalid(KindParams, hintSchema, "%s: expected %s to be an object", method, member)
	}
	return text, nil
}

func notNegative(method, member string, n int) error {
	if n < 0 {
		return invalid(KindParams, hintSchema, "%s: expected %s not to be negative", method, member)
	}
	return nil
}

// Notify takes a notification of the editor. It passes over those that it does not know.
func (e *editor) Notify(in *rpc.Incoming) {
	if in.Method == methodRootsChanged && e.initialized.Load() != 0 {
		e.control.host.RootsChanged(e.ctx)
	}
}

// Preempt is for [rpc.Handler]. Cancellations reach the peer by themselves.
func (e *editor) Preempt(string, []byte) {}

// tellEvents begins to tell the editor of events behind a number, in place of what it was told until
// now. A gap, if not nil, comes first.
func (e *editor) tellEvents(after uint64, gap []byte) {
	e.telling.Lock()
	defer e.telling.Unlock()
	e.stopStream()
	if e.left {
		return
	}
	ctx, cancel := context.WithCancel(e.ctx)
	s := &eventStream{cancel, make(chan struct{})}
	e.events = s
	go func() {
		defer close(s.done)
		for text := gap; ; text = nil {
			var err error
			if text == nil {
				text, after, err = e.control.events.next(ctx, after)
			}
			if err == nil {
				err = e.peer.Notify(ctx, methodEvent, rpc.Raw(text))
			}
			if err != nil {
				return
			}
		}
	}()
}

// stopStream ends the telling of events, and returns when nothing more is sent. The caller holds
// e.telling.
func (e *editor) stopStream() {
	if s := e.events; s != nil {
		s.cancel()
		<-s.done
		e.events = nil
	}
}

// stopEvents ends the telling of events for good.
func (e *editor) stopEvents() {
	e.telling.Lock()
	defer e.telling.Unlock()
	e.left = true
	e.stopStream()
}
