package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func TestPartsOfHeaderNames(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "z": true, "A": true, "Z": true, "0": true, "9": true, "!": true, "~": true, "a-b": true,
		"": false, "{": false, "@": false, "[": false, "/": false, ":": false, "a b": false, "é": false,
	} {
		if token(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// Integers are spelled as such as far as each of them is one number.
func TestIntegersInHeaders(t *testing.T) {
	for raw, want := range map[string]string{
		"42.0": "42", "4.2e1": "42", "0.5": "0.5",
		"9007199254740991.0": "9007199254740991", "9007199254740992.0": "9007199254740992.0", "-9007199254740992.0": "-9007199254740992.0",
	} {
		if got, ok := (headerParam{path: []string{"n"}}).value([]byte(`{"n":` + raw + `}`)); got != want || !ok {
			t.Errorf("%s becomes %q, %v", raw, got, ok)
		}
	}
}

// A capability is asked for from the revision on that has it.
func TestCapabilityOfARevision(t *testing.T) {
	for revision, want := range map[string]bool{mcp.Version20241105: false, mcp.Version20250326: true, mcp.Version20250618: true} {
		l := &agreedConn{dialect: dialect{revision: revision}}
		l.info.Capabilities = json.RawMessage(`{}`)
		if lacks := l.lacks(hasCompletions) != nil; lacks != want {
			t.Errorf("%s: lacks it %v", revision, lacks)
		}
	}
}

func TestNumbersThatAreHints(t *testing.T) {
	for raw, want := range map[string]float64{"9": 9, "90.5": 90.5, "0": 0, "-5": -5, `"9"`: 0, "null": 0, "[9]": 0, "1e400": 0} {
		r := strictjson.Read([]byte(raw))
		if got := number(r); got != want {
			t.Errorf("%s counts as %v", raw, got)
		}
	}
}

// A prompt without a name is none, and an error in it comes before that.
func TestPromptWithoutAName(t *testing.T) {
	for text, want := range map[string]string{
		`{"name":"p"}`: "", `{}`: "it has no name", `{"name":""}`: "it has no name", `[]`: "want an object", `{"name":"p","arguments":{}}`: "want an array",
	} {
		l := newList(&promptKind)
		err := l.addElement([]byte(text), dialect{era: mcp.Modern})
		if warned := strings.Join(l.warnings, "\n"); err != nil || (warned == "") != (want == "") || !strings.Contains(warned, want) || len(l.items) == len(l.warnings) {
			t.Errorf("%s: %v, %q", text, err, l.warnings)
		}
	}
}

func TestHowATextIsShortened(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "abc…", "abéd": "ab…"} {
		if got := shorten(text, 3); got != want {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}

// What a server says of tasks is read of that member alone.
func TestTaskSupportOfATool(t *testing.T) {
	for execution, want := range map[string]string{`{"taskSupport":"required"}`: "required", `{"taskSupport":null}`: "", `{"other":"required"}`: "", `{}`: ""} {
		tool, _, err := readTool([]byte(`{"name":"x","execution":`+execution+`}`), nil)
		if err != nil || tool.Execution.TaskSupport != want {
			t.Errorf("%s: %+v, %v", execution, tool.Execution, err)
		}
	}
}

func TestWhatAServerDoesNotOffer(t *testing.T) {
	for have, want := range map[string]string{"": "the server does not offer logging: it declares nothing", "tools,prompts": "the server does not offer logging: it declares tools, prompts"} {
		err := &unsupportedError{want: "logging", have: strings.FieldsFunc(have, func(r rune) bool { return r == ',' })}
		if err.Error() != want {
			t.Error(err)
		}
	}
}

func TestWarningsOfAListAreFew(t *testing.T) {
	var l list[int]
	for n := range 12 {
		l.warn("number %d", n)
	}
	if len(l.warnings) != 10 || l.warnings[9] != "number 9" {
		t.Errorf("%q", l.warnings)
	}
}

func TestLongestState(t *testing.T) {
	for size, want := range map[int]bool{mcp.MaxState: true, mcp.MaxState + 1: false} {
		state := `"` + strings.Repeat("x", size-2) + `"`
		if _, err := readInputRequired([]byte(`{"requestState":` + state + `}`)); (err == nil) != want {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// Which HTTP statuses of a refusal say what kind of server there is.
func TestTellingStatuses(t *testing.T) {
	for status, want := range map[int]bool{
		200: true, 299: true, 300: false, 399: false, 400: true, 401: false, 402: true, 403: false, 404: true, 405: true,
		407: false, 408: false, 429: false, 499: true, 500: false, 503: false, 0: true,
	} {
		if revealsServer(&rpc.Error{Code: -32601, HTTP: status}) != want {
			t.Errorf("%d: %v", status, !want)
		}
	}
}

func TestProgressOfOurTokens(t *testing.T) {
	for params, want := range map[string]bool{
		`{"progressToken":1,"progress":2}`: true, `{"token":7,"value":2}`: true,
		`{"progressToken":0,"progress":2}`: false, `{"progressToken":-1}`: false, `{"progressToken":1.5}`: false, `{"progressToken":"1"}`: false,
		`{"progressToken":1,"progress":"x"}`: false, `{"progress":1}`: false, `[]`: false, "": false,
	} {
		if _, _, ok := readProgress([]byte(params)); ok != want {
			t.Errorf("%s: %v", params, ok)
		}
	}
}

// A tracker without a clock can be held.
func TestHoldWithoutAClock(t *testing.T) {
	var k tracker
	k.hold(1)
	if k.hold(-1); k.held != 0 {
		t.Errorf("held %d times", k.held)
	}
}

func TestLargestRead(t *testing.T) {
	var r reads
	r.store("u", make([]byte, maxReads-1), time.Now().Add(time.Hour), 0)
	if r.bytes != maxReads || len(r.results) != 1 {
		t.Errorf("%d bytes of %d results are kept", r.bytes, len(r.results))
	}
	r.change()
	for _, uri := range []string{"u", "v"} {
		r.store(uri, make([]byte, maxReads/2-1), time.Now().Add(time.Hour), 1)
	}
	if r.bytes != maxReads || len(r.results) != 2 {
		t.Errorf("%d bytes of %d results are kept", r.bytes, len(r.results))
	}
}

// So many changes wait, and URIs so long; beyond that there is the word that some were
// missed.
func TestChangesThatWait(t *testing.T) {
	changed := func(uri string) mcp.Change { return mcp.Change{Kind: mcp.ResourceUpdated, URI: uri} }
	long := strings.Repeat("x", maxURI)
	u := &Subscription{wake: make(chan struct{}, 1)}
	u.filter.URIs = []string{long + "z"}
	u.put(changed(long))
	u.put(changed(long + "z"))
	u.put(changed(long + "y"))
	if len(u.pending) != 3 || u.pending[0].URI != long || u.pending[1].URI != long+"z" || u.pending[2].Kind != mcp.Missed {
		t.Errorf("%d changes wait", len(u.pending))
	}
	for len(u.pending) < maxPending {
		u.put(changed(fmt.Sprint(len(u.pending))))
	}
	u.put(changed("more"))
	if len(u.pending) != 1 || u.pending[0].Kind != mcp.Missed {
		t.Errorf("%d changes wait after the last that may", len(u.pending))
	}
	<-u.wake
	if _, ok := u.take(); !ok || len(u.wake) != 0 {
		t.Error("the last change left a token")
	}
	u.put(changed("a"))
	u.put(changed("b"))
	<-u.wake
	if c, ok := u.take(); !ok || c.URI != "a" || len(u.wake) != 1 {
		t.Error("the first of two changes left no token")
	}
}

func TestWhatAFilterCovers(t *testing.T) {
	for _, test := range []struct {
		filter mcp.Filter
		uri    string
		loose  bool
		want   bool
	}{
		{mcp.Filter{URIs: []string{"a"}}, "a", false, true},
		{mcp.Filter{URIs: []string{"a"}}, "a/b", false, false},
		{mcp.Filter{URIs: []string{"a"}}, "a/b", true, true},
		{mcp.Filter{Tools: true}, "a", true, false},
	} {
		if got := covers(&test.filter, mcp.Change{Kind: mcp.ResourceUpdated, URI: test.uri}, test.loose); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// An acknowledgement is that of the request that opens the stream, or later.
func TestWhoseAcknowledgement(t *testing.T) {
	in := new(inbox)
	for id, want := range map[string]bool{"0": false, "4": false, "5": false, "6": true, "-1": true, `"x"`: true, "5.5": true} {
		u := &Subscription{wake: make(chan struct{}, 1), binding: binding{inbox: in, after: 5, opening: make(chan struct{}), shut: func(error) {}}}
		if u.acknowledge(new(inbox), id, mcp.Filter{Tools: true}, nil) {
			t.Errorf("%s of another connection was taken", id)
		}
		if got := u.acknowledge(in, id, mcp.Filter{Tools: true}, nil); got != want {
			t.Errorf("%s: taken %v", id, got)
		}
	}
}

// A stream is shut by a cancellation of its id on its connection, and by no other.
func TestWhoseStreamIsShut(t *testing.T) {
	in := new(inbox)
	for _, test := range []struct {
		in     *inbox
		id     string
		params string
		want   bool
	}{
		{in, "7", `{"requestId":7}`, true},
		{in, "7", `{"requestId":8}`, false},
		{in, "7", `{}`, false},
		{in, "", `{}`, false},
		{new(inbox), "7", `{"requestId":7}`, false},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		u := &Subscription{binding: binding{inbox: test.in, id: test.id, shut: cancel}}
		a := &subscribers{members: map[*Subscription]struct{}{u: {}}}
		a.control(in, mcp.NotificationCancelled, []byte(test.params))
		if shut := errors.Is(context.Cause(ctx), errTornDown); shut != test.want {
			t.Errorf("%q and %s: shut %v", test.id, test.params, shut)
		}
		cancel(nil)
	}
}

// A string that is most of a result stays where it is, and a smaller one is copied.
func TestWhatIsCopiedOfAResult(t *testing.T) {
	for size, want := range map[int]bool{10: false, 1000: true} {
		text := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}`)
		result, err := readCall(text)
		if err != nil || len(result.Content) != 1 {
			t.Fatal(err)
		}
		at := uintptr(unsafe.Pointer(unsafe.StringData(result.Content[0].Text))) - uintptr(unsafe.Pointer(&text[0]))
		if stays := at < uintptr(len(text)); stays != want {
			t.Errorf("%d bytes stay where they are: %v", size, stays)
		}
	}
}

// What is compiled of a schema counts, and results are checked from the revision on that
// has schemas for them.
func TestSchemasOfResults(t *testing.T) {
	s := &Session{}
	s.cfg.Warn = func(text string) { t.Error(text) }
	c := &toolSchemas{output: newToolSchema([]byte(`{"type":"object","required":["a"]}`))}
	q := &request{name: "x", method: mcp.MethodCallTool, toolSchemas: c}
	for revision, want := range map[string]bool{mcp.Version20250326: true, mcp.Version20250618: false} {
		if err := s.checkResult(q, &dialect{revision: revision}, &mcp.CallToolResult{StructuredContent: json.RawMessage(`{}`)}); (err == nil) != want {
			t.Errorf("%s: %v", revision, err)
		}
	}
	var k compiled
	other := newToolSchema([]byte(`{"type":"object","required":["b"]}`))
	if r := other.compile(&k); r.made == nil || r.made.Bytes() == 0 || k.bytes != r.made.Bytes() {
		t.Errorf("%d bytes are counted", k.bytes)
	}
	if none := newToolSchema(nil); none.compile(&k).made != nil {
		t.Error("nothing was compiled")
	}
}

// What a transport carries to a server of each revision.
func TestTermsOfARevision(t *testing.T) {
	for _, test := range []struct {
		version            string
		http               bool
		batch, cancel, one bool
	}{
		{mcp.Version20241105, true, true, false, false},
		{mcp.Version20250326, false, true, true, false},
		{mcp.Version20250618, false, false, true, false},
		{mcp.Version20250618, true, false, false, false},
		{modernVersions[0], true, false, true, true},
	} {
		c := &Dialed{StreamCancel: true}
		if test.http {
			c.Probe = abi.ProbeHTTP
		}
		got := terms(c, 3, test.version)
		if got.AllowBatch != test.batch || got.StreamCancel != test.cancel || got.NoReplies != test.one || got.Epoch != 3 || got.Version != test.version {
			t.Errorf("%s: %+v", test.version, got)
		}
	}
}

// An error that only says that a context ended is replaced by why, and no other is.
func TestCauseOfAnEnd(t *testing.T) {
	why, other := errors.New("why"), errors.New("other")
	ended, end := context.WithCancelCause(t.Context())
	end(why)
	for _, test := range []struct {
		ctx       context.Context
		err, want error
	}{
		{ended, context.Canceled, why}, {ended, other, other}, {ended, nil, nil},
		{t.Context(), context.Canceled, context.Canceled}, {t.Context(), other, other}, {t.Context(), nil, nil},
	} {
		if got := cause(test.ctx, test.err); got != test.want {
			t.Errorf("%v of %v: %v", test.err, test.ctx.Err(), got)
		}
	}
}
