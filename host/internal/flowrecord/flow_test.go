package flowrecord

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// clerk is a provider that awaits everything there is, one after the other, and uses what
// comes in the actions that follow. A secret that it computes with has a digit more.
type clerk struct {
	name  string
	fault string
}

func (c *clerk) Manifest() *step.Manifest {
	return &step.Manifest{Name: c.name, Version: "1.0.0", Settings: []step.Setting{{Key: "pin", Secret: true}, {Key: "tenant"}, {Key: "file", Secret: true}}}
}

var asked = []step.Action{
	{Kind: step.ActionLoad, Load: &step.Load{Key: step.RecordKey{Name: "token"}}},
	{Kind: step.ActionHTTP, HTTP: &step.HTTP{Method: "POST", URL: "https://sso.example/token"}},
	{Kind: step.ActionHTTP, HTTP: &step.HTTP{Method: "GET", URL: "https://sso.example/form"}},
	{Kind: step.ActionHTTP, HTTP: &step.HTTP{Method: "GET", URL: "https://sso.example/text"}},
	{Kind: step.ActionOpenBrowser, OpenBrowser: &step.OpenBrowser{URL: "https://sso.example/page"}},
	{Kind: step.ActionPrompt, Prompt: &step.Prompt{Label: "code"}},
	{Kind: step.ActionRun},
	{Kind: step.ActionWait, Wait: &step.Wait{}},
	{Kind: step.ActionSign, Sign: &step.Sign{Key: "k", Claims: json.RawMessage("{}")}},
}

func (c *clerk) Step(_ context.Context, call *step.Call) (*step.Reply, error) {
	var n int
	if call.State != nil {
		if err := json.Unmarshal(call.State, &n); err != nil {
			return nil, err
		}
	}
	text, _ := json.Marshal(call.Event)
	told := step.Action{Kind: step.ActionShow, Show: &step.Show{URL: "https://sso.example", Code: base64.StdEncoding.EncodeToString(text)}}
	reply := &step.Reply{State: json.RawMessage(fmt.Sprint(n + 1)), Actions: []step.Action{told}}
	switch {
	case call.Event.Kind == step.EventRequest || n == len(asked):
		reply.Actions = append(reply.Actions, step.Action{Kind: step.ActionDone})
	case c.fault != "" && bytes.Contains(text, []byte("stand-in")):
		reply.Actions = []step.Action{{Kind: step.ActionFail, Fail: &step.Fail{Class: step.FailConfig, Message: c.fault}}}
	default:
		reply.Actions = append(reply.Actions, asked[n])
	}
	return reply, nil
}

func jwt(claims string) string {
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"ES256"}`)) + "." + part([]byte(claims)) + "." + part([]byte("CANARY-signature"))
}

// events are a flow in which every text with CANARY is a secret.
func events() []step.Event {
	out := []step.Event{
		{Kind: step.EventStart, Start: &step.Start{
			Reason: step.ReasonChallenged, Client: step.Client{Name: "wharf", Version: "1"},
			Server:   step.Server{Name: "corp", URL: "https://mcp.example/u/CANARY-0123456789abcdef/mcp?key=CANARY-query", Resource: "https://mcp.example/u/CANARY-0123456789abcdef/mcp"},
			Settings: json.RawMessage(`{"pin":"CANARY-pin","tenant":"acme","file":"{\"type\":\"account\",\"private_key\":\"CANARY-pem\",\"aud\":\"CANARY-audience\"}","table":{"api_key":"CANARY-table"}}`),
			Challenge: &step.Challenge{Status: 401, Token: "CANARY-refused", Authenticate: []string{
				`Bearer realm="mcp", scope="read write", nonce="CANARY-nonce", error_description="not with CANARY-refused"`, "Negotiate CANARYwithalongtoken68+/==",
			}},
		}},
		{Kind: step.EventLoaded, Record: &step.Record{Value: json.RawMessage(`{"a":"CANARY-saved","expires":1800000000000,"issuer":"https://sso.example","scope":["read"],"deep":[{"x":"CANARY-deep"}]}`)}},
		{Kind: step.EventResponse, Response: &step.Response{Status: 200, URL: "https://sso.example/token?code=CANARY-code",
			Headers: map[string]string{"content-type": "application/json", "set-cookie": "sid=CANARY-cookie", "x-custom": "CANARY-custom-header"},
			Body:    `{"access_token":"CANARY-access","token_type":"Bearer","expires_in":3600,"id_token":"` + jwt(`{"exp":1800003600,"sub":"CANARY-person","iss":"https://sso.example"}`) + `","next":"https://sso.example/next?t=CANARY-next","token_endpoint_auth_method":"none"}`}},
		{Kind: step.EventResponse, Response: &step.Response{Status: 200, URL: "https://sso.example/form",
			Headers: map[string]string{"content-type": "application/x-www-form-urlencoded; charset=utf-8"}, Body: "access_token=CANARY-form&scope=read&token_type=bearer"}},
		{Kind: step.EventResponse, Response: &step.Response{Status: 200, URL: "https://sso.example/text", Headers: map[string]string{"content-type": "text/plain"}, Body: "CANARY-whole-body"}},
		{Kind: step.EventRedirect, Redirect: &step.Redirect{Params: map[string]string{"code": "CANARY-code", "iss": "https://sso.example", "user": "CANARY-user"}}},
		{Kind: step.EventInput, Input: &step.Input{Text: "CANARY-typed"}},
		{Kind: step.EventRun, Run: &step.RunResult{Stdout: `{"Authorization":"Bearer CANARY-helper"}`, Stderr: "used CANARY-helper-key"}},
		{Kind: step.EventTimer, Problem: &step.Problem{Code: step.ProblemNetwork, Text: "lookup CANARY on CANARY"}},
		{Kind: step.EventSigned, Signed: &step.Signed{JWT: jwt(`{"jti":"CANARY-jti"}`)}},
	}
	for i := range out {
		out[i].Now, out[i].Entropy = int64(1_800_000_000_000+i), []byte("CANARY-random-CANARY-random-CANA")
	}
	return out
}

// record has a provider record events, and returns the lines and the warnings.
func record(t *testing.T, secrets *redact.Set, rehearsal *clerk, events []step.Event) (lines [][]byte, warnings []string) {
	t.Helper()
	r := &Recorder{
		Provider: &clerk{name: "clerk"}, Rehearsal: rehearsal, Secrets: secrets,
		Write: func(line []byte) { lines = append(lines, line) }, Warn: func(text string) { warnings = append(warnings, text) },
	}
	var state json.RawMessage
	for _, e := range events {
		if e.Kind == step.EventStart {
			state = nil
		}
		reply, err := r.Step(t.Context(), &step.Call{State: state, Event: e})
		if err != nil {
			t.Fatal(err)
		}
		state = reply.State
	}
	return lines, warnings
}

// secretsIn returns what follows each CANARY in a line, in clear or within base64.
func secretsIn(line []byte) (found []string) {
	texts := []string{string(line)}
	var f Flow
	_ = json.Unmarshal(line, &f)
	for _, s := range f.Steps {
		texts = append(texts, string(s.Event.Entropy))
		for _, a := range s.Actions {
			if a.Show != nil {
				plain, _ := base64.StdEncoding.DecodeString(a.Show.Code)
				texts = append(texts, string(plain))
			}
		}
	}
	for _, text := range texts {
		for _, part := range strings.Split(text, ".") { // of JWTs
			plain, _ := base64.RawURLEncoding.DecodeString(strings.Trim(part, `"`))
			texts = append(texts, string(plain))
		}
	}
	for _, text := range texts {
		if _, after, ok := strings.Cut(text, "CANARY"); ok {
			found = append(found, after[:min(len(after), 40)])
		}
	}
	return found
}

// No secret of a flow is in its record, neither in an event nor in what the provider made
// of it, and harmless texts are there. The record runs again with the same provider.
func TestRecord(t *testing.T) {
	known := new(redact.Set)
	known.Hide("CANARY-")
	for name, secrets := range map[string]*redact.Set{"known to the host": known, "known to nothing": nil} {
		t.Run(name, func(t *testing.T) {
			lines, warnings := record(t, secrets, &clerk{name: "clerk"}, events())
			if len(lines) != 1 || len(warnings) > 0 {
				t.Fatalf("%d lines, and warnings: %q", len(lines), warnings)
			}
			if found := secretsIn(lines[0]); found != nil {
				t.Errorf("there are secrets in the record: %q\n%s", found, lines[0])
			}
			for _, want := range []string{
				`"acme"`, `\"type\":\"account\"`, `realm=\"mcp\", scope=\"read write\"`, `"issuer":"https://sso.example"`, `"expires":1800000000000`,
				`\"expires_in\":3600`, `\"token_type\":\"Bearer\"`, `\"token_endpoint_auth_method\":\"none\"`, "scope=read", `"iss":"https://sso.example"`,
			} {
				if !bytes.Contains(lines[0], []byte(want)) {
					t.Errorf("%s is not in the record\n%s", want, lines[0])
				}
			}
			flows, err := Read(bytes.NewReader(lines[0]))
			if err != nil || len(flows) != 1 {
				t.Fatal(flows, err)
			}
			code := flows[0].Steps[5].Event.Redirect.Params["code"]
			if at := flows[0].Steps[2].Event.Response.URL; !strings.HasPrefix(code, "stand-in-") || secrets == nil && !strings.HasSuffix(at, "code="+code) {
				t.Errorf("one secret has two stand-ins: %s, and in %s", code, at)
			}
			if err := flows[0].Run(t.Context(), &clerk{name: "clerk"}); err != nil {
				t.Error(err)
			}
			if again, _ := record(t, secrets, &clerk{name: "clerk"}, events()); !bytes.Equal(again[0], lines[0]) {
				t.Errorf("the same flow is recorded in two ways:\n%s\n%s", lines[0], again[0])
			}
		})
	}
}

// A name alone makes no text public: one that looks random is a secret whatever it is called.
func TestPublicTexts(t *testing.T) {
	for text, want := range map[string]bool{
		"authorization_code": true, "urn:ietf:params:oauth:grant-type:jwt-bearer": true, "read write tools:call": true,
		"self_signed_tls_client_auth": true, "https://www.example.com/auth/userinfo.email": true, "2026-07-28": true,
		"abcdefghij0123456789xyz": false, "8f14e45fceea167a5a36dedd4bea2543": false, "read eyJhbGciOiJFUzI1NiJ9x": false,
		"https://sso.example/cb?code=a1b2": false, "https://me:a1b2@sso.example": false,
		"AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGhIjKlMnOpQr": false, strings.Repeat("a b ", 60): false,
	} {
		if got := isPublic("grant", text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// Short secrets are replaced in places where only their position says that they are secret.
func TestShortSecrets(t *testing.T) {
	s := newStandIns(&step.Manifest{}, nil)
	for name, got := range map[string]string{
		"a printed number":         s.document("", "123456\n"),
		"a body that is a number":  s.document("application/json", "123456"),
		"a parameter without \"":   s.challenge(`Digest realm=a, nonce=123456, opaque = "123456"`),
		"a query without a name":   s.text("", "https://mcp.example/mcp?abcdef-123456-abcdef-123456"),
		"a URL of a public name":   s.text("redirect", "https://sso.example/cb?code=123456"),
		"a password in an issuer":  s.text("issuer", "https://me:123456@sso.example"),
		"a token in a URL's path":  s.text("", "https://mcp.example/u/abcdef-123456-abcdef-123456/mcp"),
		"a member that is a token": s.document("application/json", `{"a":"eyJjb2RlIjoxMjM0NTZ9"}`),
		"a cookie":                 s.headers(map[string]string{"set-cookie": "type=123456; Path=/"})["set-cookie"],
	} {
		if strings.Contains(got, "123456") || strings.Contains(got, "eyJ") || !strings.Contains(got, "stand-in-") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A flow with a secret of the host in the name of a member is not recorded.
func TestSecretAsAName(t *testing.T) {
	known := new(redact.Set)
	known.Hide("CANARY-name")
	named := events()
	named[1].Record.Value = json.RawMessage(`{"CANARY-name":1}`)
	lines, warnings := record(t, known, &clerk{name: "clerk"}, named)
	if len(lines) > 0 || len(warnings) != 1 || !strings.Contains(warnings[0], "a secret stands in") {
		t.Errorf("%d lines, %q", len(lines), warnings)
	}
}

// A flow that is too long for a line is not recorded, and the next one is.
func TestALongFlow(t *testing.T) {
	long := events()
	long[2].Response.Body = `{"a":"` + strings.Repeat("x", maxLine) + `"}`
	lines, warnings := record(t, nil, &clerk{name: "clerk"}, append(long, events()...))
	if len(lines) != 1 || len(warnings) != 1 || !strings.Contains(warnings[0], "and a flow may have 4194304") {
		t.Errorf("%d lines, %q", len(lines), warnings)
	}
}

// A provider that needs a secret as it was cannot be recorded, and the user is told.
func TestProviderThatNeedsItsSecrets(t *testing.T) {
	lines, warnings := record(t, nil, &clerk{name: "clerk", fault: "no such pin"}, events())
	const want = "the sign-in with clerk is not recorded: step 1: with stand-ins for secrets it asks for fail config, and not for show, load"
	if len(lines) > 0 || len(warnings) != 1 || warnings[0] != want {
		t.Errorf("%d lines, %q", len(lines), warnings)
	}
}

// A signer's flow is recorded when it is over, and once more with the first request.
func TestRecordOfARequest(t *testing.T) {
	request := step.Event{Kind: step.EventRequest, Request: &step.Request{
		Method: "POST", URL: "https://mcp.example/mcp?sig=CANARY", Headers: map[string]string{"content-type": "application/json", "mcp-session-id": "CANARY"}, BodySHA256: "CANARY",
	}}
	lines, warnings := record(t, nil, &clerk{name: "clerk"}, append(events(), request, request))
	if len(lines) != 2 || len(warnings) > 0 {
		t.Fatalf("%d lines, and warnings: %q", len(lines), warnings)
	}
	flows, err := Read(bytes.NewReader(bytes.Join(lines, []byte("\n"))))
	if err != nil || len(flows) != 2 || len(flows[1].Steps) != len(flows[0].Steps)+1 || secretsIn(lines[1]) != nil {
		t.Errorf("%v, %v, %q", flows, err, secretsIn(lines[1]))
	}
}

// A line that was changed, or that is not a flow, is refused with an error that says so.
func TestWrongRecords(t *testing.T) {
	lines, _ := record(t, nil, &clerk{name: "clerk"}, events())
	good := string(lines[0])
	if flows, err := Read(strings.NewReader(`{"kind":"start","format":"wharf-record/1"}` + "\n" + good + "\r\n" + `{"kind":"end"}`)); err != nil || flows[0].Line != 2 {
		t.Errorf("%v, %v", flows, err)
	}
	if _, err := Read(strings.NewReader(strings.Repeat(good+"\n", maxFlows))); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		strings.Replace(good, "acme", "evil", 1):              "line 1: the flow was changed after it was recorded: record it again",
		good[:len(good)-1]:                                    "line 1: it is not a line that --record has written",
		strings.Replace(good, `"sha256":"`, `"sha256":"0`, 1): "line 1: the flow was changed after it was recorded: record it again",
		"{}":                                  "line 1: it is not a line that --record has written",
		`{"kind":"flow"}`:                     "line 1: a flow has at most 4194304 bytes",
		`{"kind":"start"}`:                    errNoFlows.Error(),
		"":                                    errNoFlows.Error(),
		strings.Repeat(good+"\n", maxFlows+1): "line 101: a file has at most 100 flows",
		sealed(`{"kind":"flow","format":"wharf-flow/2"`):                                                 `line 1: its format is "wharf-flow/2"; expected wharf-flow/1`,
		sealed(`{"kind":"flow","format":"wharf-flow/1"`):                                                 "line 1: a flow has 1 to 513 steps, and this one has 0",
		sealed(`{"kind":"flow","format":"wharf-flow/1","wave":1`):                                        `line 1: the flow is not of this format: json: unknown field "wave"`,
		sealed(`{"kind":"flow","format":"wharf-flow/1","steps":[{}]`):                                    "line 1: a flow begins with its only start event",
		sealed(`{"kind":"flow","format":"wharf-flow/1","steps":[{"event":{"kind":"start","start":{}}}]`): "line 1: step 1 has 0 actions; expected 1 to 16",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%.80q: %v, want %s", text, err, want)
		}
	}
	flows, _ := Read(strings.NewReader(good))
	if err := flows[0].Run(t.Context(), &clerk{name: "other"}); err == nil || err.Error() != "the flow is one of the provider clerk, and this is other" {
		t.Error(err)
	}
	const want = "step 1 (start): actions: recorded show, load, and now fail"
	if err := flows[0].Run(t.Context(), &clerk{name: "clerk", fault: "x"}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// sealed is a line that ends as a recorder ends it.
func sealed(head string) string { return string(seal([]byte(head))) }

// Whatever a file has, reading it returns, and what it takes for a flow is one.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"kind":"flow"}`))
	f.Add([]byte(`,"format":"wharf-flow/1","provider":"a","version":"1","steps":[{"event":{"kind":"start","now":1,"entropy":"","start":{"settings":{}}},"actions":[{"kind":"done"}]}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = Read(bytes.NewReader(text))
		head := append([]byte(`{"kind":"flow"`), bytes.ReplaceAll(text, []byte("\n"), nil)...)
		flows, err := Read(strings.NewReader(sealed(string(head))))
		if err != nil {
			return
		}
		if len(flows) != 1 || len(flows[0].Steps) == 0 {
			t.Fatalf("%d flows", len(flows))
		}
		_ = flows[0].Run(t.Context(), &clerk{name: flows[0].Provider})
	})
}

// Whatever a server answers, no text of it that may be a secret is recorded.
func FuzzStandIns(f *testing.F) {
	f.Add("application/json", `{"access_token":"CANARY-CANARY"}`)
	f.Add("application/json", `{"a":[{"b":"https://x.example/?q=CANARY-CANARY"}]}`)
	f.Add("application/x-www-form-urlencoded", "a=b&token=CANARY-CANARY")
	f.Add("text/html", "<a href='?t=CANARY-CANARY'>")
	f.Fuzz(func(t *testing.T, media, body string) {
		e := step.Event{Kind: step.EventResponse, Response: &step.Response{Headers: map[string]string{"content-type": media}, Body: body}}
		secrets := new(redact.Set)
		secrets.Hide("CANARY-CANARY")
		s := newStandIns(&step.Manifest{}, secrets)
		out := s.event(0, &e)
		if err := s.sweep(&out); err != nil {
			t.Skip(err)
		}
		var v any
		if json.Unmarshal([]byte(out.Response.Body), &v) == nil {
			each(v, func(text string) {
				if strings.Contains(text, "CANARY-CANARY") {
					t.Errorf("%s is recorded as %s", body, out.Response.Body)
				}
			})
		}
	})
}

// each visits the texts of a value that are no names of members.
func each(v any, visit func(string)) {
	switch v := v.(type) {
	case string:
		visit(v)
	case []any:
		for _, e := range v {
			each(e, visit)
		}
	case map[string]any:
		for _, e := range v {
			each(e, visit)
		}
	}
}
