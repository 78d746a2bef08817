//go:build !wasip1

package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// canary is the token of the tests. No failure may hold it.
const canary = "t0ken-c4nary"

func start(t testing.TB, reason, settings string) []step.Action {
	t.Helper()
	return startOn(t, step.Server{Name: "tracker"}, reason, settings)
}

func startOn(t testing.TB, server step.Server, reason, settings string) []step.Action {
	t.Helper()
	call, err := json.Marshal(step.Call{Event: step.Event{
		Kind: step.EventStart, Entropy: make([]byte, 32),
		Start: &step.Start{Reason: reason, Server: server, Settings: json.RawMessage(settings)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := auth.Step(bearer{}, call)
	if err != nil {
		t.Fatal(err)
	}
	var reply step.Reply
	if err := json.Unmarshal(out, &reply); err != nil {
		t.Fatal(err)
	}
	if n := len(reply.Actions); n == 0 || step.Awaits(reply.Actions[n-1].Kind) != "" {
		t.Fatalf("the flow is not over: %s", out)
	}
	return reply.Actions
}

func TestCredentials(t *testing.T) {
	for _, tt := range []struct {
		settings string
		want     step.Credentials
	}{
		{`{}`, step.Credentials{Scheme: "Bearer", Token: canary}},
		{`{"header":"authorization","scheme":"Bearer"}`, step.Credentials{Scheme: "Bearer", Token: canary}},
		{`{"scheme":""}`, header("Authorization", canary)},
		{`{"scheme":"Token"}`, header("Authorization", "Token "+canary)},
		{`{"header":"X-Api-Key"}`, header("X-Api-Key", canary)},
		{`{"header":"X-Api-Key","scheme":"Bearer"}`, header("X-Api-Key", "Bearer "+canary)},
	} {
		for _, reason := range []string{step.ReasonInitial, step.ReasonExpired} {
			actions := start(t, reason, withToken(tt.settings, canary))
			want := []step.Action{{Kind: step.ActionCredentials, Credentials: &tt.want}, {Kind: step.ActionDone}}
			if !reflect.DeepEqual(actions, want) {
				t.Errorf("%s: %+v", tt.settings, actions)
			}
		}
	}
}

// Where there are no headers, the token goes as it is wherever the entry lets it.
func TestMaterial(t *testing.T) {
	for _, tt := range []struct {
		server step.Server
		want   step.Material
	}{
		{step.Server{Name: "vault", Blob: true}, step.Material{Blob: []byte(canary)}},
		{step.Server{Name: "vault", Variables: []string{"A", "B"}}, step.Material{Env: map[string]string{"A": canary, "B": canary}}},
	} {
		actions := startOn(t, tt.server, step.ReasonInitial, withToken(`{}`, canary+"\n"))
		want := []step.Action{{Kind: step.ActionMaterial, Material: &tt.want}, {Kind: step.ActionDone}}
		if !reflect.DeepEqual(actions, want) {
			t.Errorf("%+v: %+v", tt.server, actions[0].Material)
		}
		wantFailure(t, startOn(t, tt.server, step.ReasonInitial, withToken(`{"scheme":""}`, canary)), "leave them out")
		wantFailure(t, startOn(t, tt.server, step.ReasonInitial, withToken(`{}`, " ")), "the token is empty")
	}
}

// A file ends with a line end, and so does what people paste.
func TestTokenIsTrimmed(t *testing.T) {
	actions := start(t, step.ReasonInitial, withToken(`{}`, " "+canary+"\r\n"))
	if actions[0].Credentials == nil || actions[0].Credentials.Token != canary {
		t.Errorf("%+v", actions)
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct{ settings, want string }{
		{`{}`, "the token is empty"},
		{withToken(`{}`, " \n"), "the token is empty"},
		{withToken(`{}`, "bearer "+canary), `begins with "Bearer"`},
		{withToken(`{}`, canary+"\n"+canary), "line end"},
		{withToken(`{"scheme":"A B"}`, canary), "one word"},
		{withToken(`{"header":"Host"}`, canary), "the header Host"},
		{withToken(`{"header":"X Y"}`, canary), `header = "X Y"`},
		{withToken(`{"header":3}`, canary), "settings"},
	} {
		wantFailure(t, start(t, step.ReasonInitial, tt.settings), tt.want)
	}
}

// What is configured is never given up for something else, and the error says
// which server it is and what to change.
func TestNeverAnythingElse(t *testing.T) {
	for reason, want := range map[string]string{
		step.ReasonChallenged: "does not take the token",
		step.ReasonUpscope:    "does not allow",
		step.ReasonLogin:      "nothing to sign in to",
		step.ReasonLogout:     "nothing to sign in to or out of",
	} {
		fail := wantFailure(t, start(t, reason, withToken(`{}`, canary)), want)
		if !strings.Contains(fail.Message, "tracker") || !strings.Contains(fail.Hint, "auth") {
			t.Errorf("%s: %+v", reason, fail)
		}
	}
}

func FuzzSettings(f *testing.F) {
	f.Add("abc", "Authorization", "Bearer")
	f.Add("Bearer abc", "", "")
	f.Add("a\nb", "Host", "x y")
	f.Add(" ", "AuthoriZAtion", "Bearer")
	f.Fuzz(func(t *testing.T, token, header, scheme string) {
		s := settings{Token: strings.TrimSpace(token), Header: header, Scheme: &scheme} // as give trims it
		c, err := s.credentials()
		if err != nil {
			if len(token) > 12 && !strings.Contains(header+scheme, token) && strings.Contains(err.Error(), token) {
				t.Fatalf("the token is in the error: %v", err)
			}
			return
		}
		if c.Token != "" {
			c.Headers = map[string]string{"Authorization": c.Scheme + " " + c.Token}
		}
		for name, value := range c.Headers {
			if err := auth.CheckHeader(name, value); err != nil {
				t.Fatalf("%q: %q: %v", name, value, err)
			}
		}
	})
}

func wantFailure(t *testing.T, actions []step.Action, want string) *step.Fail {
	t.Helper()
	if len(actions) != 1 || actions[0].Fail == nil {
		t.Fatalf("%+v; want a failure: %s", actions, want)
	}
	fail := actions[0].Fail
	if fail.Class != step.FailConfig || !strings.Contains(fail.Message, want) {
		t.Errorf("%+v; want %q", fail, want)
	}
	if strings.Contains(fail.Message+fail.Hint, canary) {
		t.Errorf("the token is in the failure: %+v", fail)
	}
	return fail
}

func header(name, value string) step.Credentials {
	return step.Credentials{Headers: map[string]string{name: value}}
}

func withToken(settings, token string) string {
	var s map[string]any
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		panic(err)
	}
	s["token"] = token
	b, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprint(err))
	}
	return string(b)
}
