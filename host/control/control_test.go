package control

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// An editor lists what there is, calls a tool, and hears what happens to servers.
func TestEditor(t *testing.T) {
	s := newScene(t)
	c := s.editor()
	first := c.call("initialize", `{"protocol":[0,7],"client":{"name":"test"},"unknown":1}`)
	c.wantHas(first, `"protocol":1,"wharf":{"name":"wharf","version":"0.1.0"}`, `"generation":"`, `"tools/call"`)
	c.call("events/since", `{}`)
	c.wantHas(c.call("servers/list", `{}`), `{"servers":[{"name":"files","state":"disconnected","reason":"not-started"`, `{"name":"broken"`)
	for _, step := range []struct{ method, params, want string }{
		{"servers/start", `{"server":"files"}`, `"name":"files","state":"connected","reason":"ready"`},
		{"tools/list", `{"server":"files"}`, `"name":"echo"`},
		{"tools/call", `{"server":"files","name":"echo","arguments":{"message":"a < b"}}`, `{"content":[{"type":"text","text":"a < b"}]}`},
		{"resources/list", `{"server":"files"}`, `{"resources":[{"name":"note","uri":"test:///note"}]}`},
		{"resources/templates", `{"server":"files"}`, `"uriTemplate":"test:///{name}"`},
		{"resources/read", `{"server":"files","uri":"test:///note"}`, `"text":"a < b"`},
		{"prompts/list", `{"server":"files"}`, `"name":"greet"`},
		{"prompts/get", `{"server":"files","name":"greet","arguments":{"who":"Ada"}}`, `"text":"hello Ada"`},
		{"complete", `{"server":"files","ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"A"}}`, `{"completion":{"values":["Ada"]}}`},
		{"status", `{}`, `"editors":1,`},
	} {
		if got := c.call(step.method, step.params); !strings.Contains(strings.ReplaceAll(got, `\u003c`, "<"), step.want) {
			t.Errorf("%s: %s lacks %s", step.method, got, step.want)
		}
	}
	if e := c.event(ServerState, `"connected"`); e.Server != "files" || e.Number == 0 {
		t.Errorf("%+v", e)
	}
	c.call("tools/call", `{"server":"files","name":"grow"}`)
	c.event(PromptsChanged, "files")
	c.call("tools/call", `{"server":"files","name":"grow","arguments":{"what":"tools"}}`)
	c.event(ToolsChanged, "files")
	c.wantHas(c.call("tools/list", `{"server":"files"}`), `"name":"new"`)
	c.call("tools/call", `{"server":"files","name":"grow","arguments":{"what":"resources"}}`)
	c.event(ResourcesChanged, "files")

	c.wantHas(c.call("servers/stop", `{"server":"files"}`), `"state":"disabled"`)
	c.event(ServerState, `"disabled"`)
	if m := c.answer(c.begin("tools/call", `{"server":"files","name":"echo"}`)); m.Error == nil || m.Error.Code != CodeFailed || m.Error.Data.Kind != KindDisabled {
		t.Errorf("a call to a stopped server: %+v", m.Error)
	}
	c.wantHas(c.call("servers/restart", `{"server":"files"}`), `"state":"connected"`)
	c.call("tools/call", `{"server":"files","name":"grow","arguments":{"what":"tools"}}`)
	c.event(ToolsChanged, "files")
	c.call("servers/restart", `{"server":"files"}`)
	if got := c.call("tools/list", `{"server":"files"}`); strings.Contains(got, `"name":"new"`) {
		t.Errorf("the server is the one of before: %s", got)
	}
	if m := c.answer(c.begin("servers/start", `{"server":"broken"}`)); m.Error == nil || m.Error.Data.Kind != KindUnknownTransport {
		t.Errorf("a server that cannot start: %+v", m.Error)
	}
	c.stream.CloseWrite()
	if err := <-c.ended; err != nil {
		t.Error(err)
	}
}

// An editor that frames by Content-Length is answered so.
func TestContentLength(t *testing.T) {
	c := newScene(t).editor()
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":[1,1],"client":{"name":"emacs"}}}`
	fmt.Fprintf(c.stream, "Content-Length: %d\r\n\r\n%s", len(body), body)
	c.wantHas(string(c.answer(1).Result), `"protocol":1`)
}

// All progress of a call comes before its result, in its order.
func TestProgressComesBeforeTheResult(t *testing.T) {
	c := newScene(t).ready(all)
	for range 20 {
		c.early = nil
		c.answer(c.begin("tools/call", `{"server":"files","name":"steps","progress":7}`))
		var told []string
		for _, m := range c.early {
			if m.Method == "$/progress" {
				told = append(told, string(m.Params))
			}
		}
		for n := range 5 {
			if want := fmt.Sprintf(`{"token":7,"value":{"progress":%d}}`, n); len(told) != 5 || told[n] != want {
				t.Fatalf("before the result it was told %q", told)
			}
		}
	}
}

// Progress has the token of the editor. A call that the editor cancels is cancelled at the server, and answered.
func TestProgressAndCancel(t *testing.T) {
	s := newScene(t)
	c := s.ready(all)
	id := c.begin("tools/call", `{"server":"files","name":"count","progress":"p1"}`)
	c.wantHas(string(c.asked("$/progress").Params), `{"token":"p1","value":{"progress":1,"total":3}}`)
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}`, id))
	if m := c.answer(id); m.Error == nil || m.Error.Code != CodeCancelled || m.Error.Data.Kind != KindCancelled {
		t.Errorf("a cancelled call: %+v", m)
	}
	if got := <-s.counted; got != "cancelled" {
		t.Error(got)
	}
	c.wantHas(c.call("tools/call", `{"server":"files","name":"echo","arguments":{"message":"on"}}`), `"on"`)
}

// What an editor gets wrong is answered with a stable code and kind, and harms nothing behind it.
func TestBadRequests(t *testing.T) {
	s := newScene(t)
	c := s.editor()
	hello := `{"protocol":[1,1],"client":{"name":"test"}}`
	for _, r := range []struct {
		method, params string
		code           int
		kind           Kind // "" for a result
	}{
		{"servers/list", `{}`, CodeNotInitialized, KindNotInitialized},
		{"initialize", `{"protocol":[2,9]}`, CodeInvalidParams, KindVersion},
		{"initialize", `{"protocol":[0,0]}`, CodeInvalidParams, KindVersion},
		{"initialize", `{"protocol":[1]}`, CodeInvalidParams, KindParams},
		{"initialize", `{"protocol":[2,1]}`, CodeInvalidParams, KindParams},
		{"initialize", `{"protocol":"1"}`, CodeInvalidParams, KindParams},
		{"initialize", `[]`, CodeInvalidParams, KindParams},
		{"initialize", hello, 0, ""},
		{"initialize", hello, CodeInvalidRequest, KindAlreadyInitialized},
		{"servers/sing", `{}`, CodeUnknownMethod, KindUnknownMethod},
		{"tools/list", `{"server":"none"}`, CodeInvalidParams, KindUnknownServer},
		{"tools/list", `{}`, CodeInvalidParams, KindParams},
		{"tools/list", `{"server":7}`, CodeInvalidParams, KindParams},
		{"tools/call", `{"server":"files","name":"echo","progress":{}}`, CodeInvalidParams, KindParams},
		{"tools/call", `{"server":"files","name":"none"}`, CodeFailed, KindServer},
		{"events/since", `{"number":1000000}`, CodeInvalidParams, KindFutureEvent},
		{"events/since", `{"number":-1}`, CodeInvalidParams, KindParams},
		{"status", `{}`, 0, ""},
		{"status", `[]`, 0, ""},
		{"status", `[1]`, CodeInvalidParams, KindParams},
		{"tools/call", `{"server":"files","name":"grow","arguments":[],"progress":null}`, 0, ""},
		{"tools/call", `{"server":"files","name":"grow","arguments":null}`, 0, ""},
		{"request", `{"server":"files","method":"tools/list","params":[]}`, 0, ""},
		{"prompts/get", `{"server":"files","name":"greet","arguments":[]}`, 0, ""},
		{"tools/call", `{"server":"files"}`, CodeInvalidParams, KindParams},
		{"tools/call", `{"server":"files","name":5}`, CodeInvalidParams, KindParams},
		{"tools/call", `{"server":"files","name":"grow","arguments":"x"}`, CodeInvalidParams, KindParams},
		{"tools/call", `{"server":"files","name":"grow","timeout":-5}`, CodeInvalidParams, KindParams},
		{"complete", `{"server":"files","argument":{"name":"who","value":"A"}}`, CodeInvalidParams, KindParams},
		{"complete", `{"server":"files","ref":{"type":"ref/prompt","name":"greet"}}`, CodeInvalidParams, KindParams},
		{"prompts/get", `{"server":"files"}`, CodeInvalidParams, KindParams},
		{"prompts/get", `{"server":"files","name":"greet","arguments":["x"]}`, CodeInvalidParams, KindParams},
		{"resources/read", `{"server":"files"}`, CodeInvalidParams, KindParams},
		{"request", `{"server":"files"}`, CodeInvalidParams, KindParams},
		{"request", `{"server":"files","method":"tools/list","params":[1]}`, CodeInvalidParams, KindParams},
		{"tasks/get", `{"server":"files"}`, CodeInvalidParams, KindParams},
		{"tasks/start", `{"server":"files","name":"grow","ttl":-1}`, CodeInvalidParams, KindParams},
	} {
		m := c.answer(c.begin(r.method, r.params))
		switch {
		case r.kind == "" && m.Error != nil:
			t.Errorf("%s %s: %+v", r.method, r.params, *m.Error)
		case r.kind != "" && (m.Error == nil || m.Error.Code != r.code || m.Error.Data.Kind != r.kind):
			t.Errorf("%s %s: got %+v, want %d %s", r.method, r.params, m.Error, r.code, r.kind)
		case r.kind != "" && r.kind != KindServer && m.Error.Data.Hint == "":
			t.Errorf("%s %s: %s, and no hint", r.method, r.params, m.Error.Message)
		}
	}
	c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":99}}`)
	c.send(`{"jsonrpc":"2.0","id":1234,"result":{}}`)
	c.wantHas(c.call("status", `null`), `"failed":30`)
}

// Requests that do not wait for the answer to initialize are served; one that came before it is not.
func TestPipelinedBeginning(t *testing.T) {
	c := newScene(t).editor()
	early := c.begin("status", `{}`)
	c.begin("initialize", `{"protocol":[1,1],"client":{"name":"test"}}`)
	late := c.begin("servers/list", `{}`)
	if m := c.answer(early); m.Error == nil || m.Error.Data.Kind != KindNotInitialized {
		t.Errorf("before initialize: %+v", m)
	}
	if m := c.answer(late); m.Error != nil {
		t.Errorf("behind initialize: %+v", *m.Error)
	}
}

// A line of 100 MB is answered, and not kept; the next one is served.
func TestLineOverTheCap(t *testing.T) {
	c := newScene(t).ready(`{}`)
	c.send(`{"jsonrpc":"2.0","id":77,"method":"status","params":{"x":"` + strings.Repeat("x", 100<<20) + `"}}`)
	if m := c.answer(77); m.Error == nil || m.Error.Code != CodeInvalidRequest {
		t.Errorf("%+v", m)
	}
	c.call("status", `{}`)
}

// FuzzParams decodes what an editor may write as the params of each method: it is refused or taken, and
// nothing panics.
func FuzzParams(f *testing.F) {
	f.Add([]byte(`{"protocol":[1,1],"client":{"name":"x"},"capabilities":{"elicit":true}}`))
	f.Add([]byte(`{"server":"files","name":"echo","arguments":{"message":"x"},"progress":1}`))
	f.Add([]byte(`{"number":1,"generation":"x"}`))
	f.Add([]byte(`{"server":"files","arguments":{"a":1},"name":"x","arguments":null,"Arguments":[2],"arGuments":{}}`))
	f.Add([]byte(`{"Progress":2,"progress":1,"\u0061rguments":{}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, params []byte) {
		if len(params) == 0 || !json.Valid(params) || params[0] <= ' ' {
			return // the peer has refused it, or cut the blanks
		}
		if p, err := readInitialize(params); err == nil && (p.Protocol[0] > NewestVersion || p.Protocol[1] < OldestVersion) {
			t.Errorf("took %s", params)
		}
		var call CallParams
		var since SinceParams
		var plain CallParams // as the package json reads it
		if readParams("tools/call", params, &call) == nil && !none(params) && (json.Unmarshal(params, &plain) != nil || !reflect.DeepEqual(call, plain)) {
			t.Errorf("%s is read as %+v, and not as %+v", params, call, plain)
		}
		fieldsOf(params)
		if readParams("events/since", params, &since) == nil {
			log := newEventLog()
			log.add(Event{Kind: Warning})
			if after, _, err := log.start(since); err == nil && after > 1 {
				t.Errorf("%s is behind event %d", params, after)
			}
		}
	})
}

// An editor that has left is not asked, though its first request is served behind its end.
func TestEditorIsForgotten(t *testing.T) {
	s := newScene(t)
	e := newEditor(t.Context(), s.control)
	e.leave()
	e.enter()
	if n := len(s.control.editors); n != 0 {
		t.Errorf("%d editors are known", n)
	}
}
