//go:build !wasip1

package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/examples/internal/exampletest"
	"github.com/wharf-mcp/wharf/plugins"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// twin returns the plugin that is shipped, which is in C. That it is what its source gives
// is tested in host/pluginbuild.
func twin(t testing.TB) func(export string, in []byte) ([]byte, error) {
	t.Helper()
	return exampletest.Provider(t, plugins.Builtin()["bearer"]())
}

// decoded is JSON as a comparison wants it.
func decoded(t testing.TB, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

// wantTwins gives both a start and compares what they say.
func wantTwins(t testing.TB, call func(string, []byte) ([]byte, error), s step.Start) {
	t.Helper()
	in, err := json.Marshal(step.Call{Event: step.Event{Kind: step.EventStart, Entropy: make([]byte, 32), Start: &s}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := auth.Step(bearer{}, in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := call(step.ExportStep, in)
	if err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	if !reflect.DeepEqual(decoded(t, got), decoded(t, want)) {
		t.Errorf("%s: in C\n%s\nand in Go\n%s", in, got, want)
	}
}

func TestTwinsDescribeThemselves(t *testing.T) {
	out, err := twin(t)(step.ExportDescribe, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := auth.Describe(manifest); !reflect.DeepEqual(decoded(t, out), decoded(t, want)) {
		t.Errorf("in C\n%s\nand in Go\n%s", out, want)
	}
}

// headers are those that no credential sets, and some beside them.
const headers = "Accept accept-encoding Connection Content- content-type Cookie Cookie2 Cookie3 DPoP Expect Host Hosts HTTP2-Settings " +
	"Keep-Alive Last-Event-ID Mcp- mcp-session-id Mcp Proxy- Proxy-Authorization Sec-WebSocket- Sec-WebSocket-Key Sec TE Tea Trailer " +
	"Transfer-Encoding Upgrade User-Agent User X-Api-Key authorization Ключ !#$%&'*+-.^_`|~ a:b"

// spaces are what a token may have around it.
const spaces = "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

func TestTwins(t *testing.T) {
	call := twin(t)
	for name := range strings.SplitSeq(headers, " ") {
		wantTwins(t, call, step.Start{Settings: table(t, canary, &name, nil)})
	}
	for _, space := range spaces + "\u200b\u2060\ufeff\u3001" {
		around, scheme := string(space), "S"+string(space)
		wantTwins(t, call, step.Start{Settings: table(t, around+canary+around+around, nil, nil)})
		wantTwins(t, call, step.Start{Settings: table(t, canary, nil, &scheme)})
		wantTwins(t, call, step.Start{Settings: table(t, canary, nil, &around)})
	}
	server := step.Server{Name: `a "strange"` + " name\n"}
	for _, reason := range []string{"initial", "expired", "challenged", "upscope", "login", "logout", "another", ""} {
		wantTwins(t, call, step.Start{Reason: reason, Server: server, Settings: table(t, canary, nil, nil)})
	}
	for _, settings := range []string{`{}`, `{"token":null,"scheme":null}`, `{"header":null,"token":"t"}`, `{"token":"\ud83d\ude00\ud83d<&>\u0000"}`} {
		for _, s := range []step.Server{server, {Blob: true}, {Variables: []string{"A"}}, {Variables: []string{"A", "B"}, Blob: true}, {Variables: []string{}}} {
			wantTwins(t, call, step.Start{Server: s, Settings: json.RawMessage(settings)})
		}
	}
}

// The plugin in C does not say of which type a setting is; the host lets none of another
// type through.
func TestTwinRefusesSettings(t *testing.T) {
	call := twin(t)
	for _, settings := range []string{`{"token":3}`, `{"header":[]}`, `{"scheme":true}`} {
		in, err := json.Marshal(step.Call{Event: step.Event{Kind: step.EventStart, Start: &step.Start{Settings: json.RawMessage(settings)}}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := call(step.ExportStep, in)
		var reply step.Reply
		if err == nil {
			err = json.Unmarshal(out, &reply)
		}
		if err != nil {
			t.Fatalf("%s: %v", settings, err)
		}
		wantFailure(t, reply.Actions, "settings: ")
	}
}

// What is no start is an error, and no trap.
func TestTwinRefusesCalls(t *testing.T) {
	call := twin(t)
	for _, in := range []string{
		"", "null", "{}", `{"event":{}}`, `{"event":{"kind":"start"}}`, `{"event":{"kind":"start","start":[]}}`, `{"event":{"kind":"timer"}}`,
		`{"event":{"kind":"start","start":{}}`, `{"event":{"kind":"start","start":{}}}x`, `{"a":"` + strings.Repeat("x", step.MaxCall),
		strings.Repeat("[", 100),
	} {
		if out, err := call(step.ExportStep, []byte(in)); err == nil || !strings.Contains(err.Error(), "no start of this contract") {
			t.Errorf("%.60q: %s, %v", in, out, err)
		}
	}
}

// FuzzTwins gives both the same settings. A scheme is of ASCII: of other letters the one
// in C does not know which are the same in another case.
func FuzzTwins(f *testing.F) {
	f.Add("abc", "Authorization", "Bearer", "initial", uint8(0))
	f.Add("Bearer abc", "", "bearer", "expired", uint8(1))
	f.Add("a\nb", "Host", "x y", "challenged", uint8(7))
	f.Add(" ", "Content-Type", " ", "upscope", uint8(12))
	f.Add("basic", "X-Key", "basic", "", uint8(63))
	call := twin(f)
	f.Fuzz(func(t *testing.T, token, header, scheme, reason string, with uint8) {
		if strings.ContainsFunc(scheme, func(r rune) bool { return r >= 0x80 }) {
			t.Skip()
		}
		s := step.Start{Reason: reason, Server: step.Server{Name: header, URL: reason, Blob: with&4 != 0}}
		for i := range int(with >> 3 & 3) {
			s.Server.Variables = append(s.Server.Variables, strings.Repeat("V", i)+scheme)
		}
		var h, sc *string
		if with&1 != 0 {
			h = &header
		}
		if with&2 != 0 {
			sc = &scheme
		}
		s.Settings = table(t, token, h, sc)
		wantTwins(t, call, s)
	})
}

// table is an auth table; what is nil is left out.
func table(t testing.TB, token string, header, scheme *string) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(struct {
		Token  string  `json:"token"`
		Header *string `json:"header,omitempty"`
		Scheme *string `json:"scheme,omitempty"`
	}{token, header, scheme})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
