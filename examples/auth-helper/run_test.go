//go:build !wasip1

package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

var now = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// flow takes the two steps of a flow: it starts, runs, and ends.
func flow(t testing.TB, start step.Start, result step.Event) []step.Action {
	t.Helper()
	start.Server.Name = "tracker"
	reply := once(t, nil, step.Event{Kind: step.EventStart, Start: &start})
	if len(reply.Actions) != 1 || reply.Actions[0].Kind != step.ActionRun {
		t.Fatalf("%s: %+v; want run", start.Reason, reply.Actions)
	}
	result.Kind = step.EventRun
	return once(t, reply.State, result).Actions
}

func once(t testing.TB, state json.RawMessage, e step.Event) (reply step.Reply) {
	t.Helper()
	e.Now, e.Entropy = now.UnixMilli(), make([]byte, 32)
	call, err := json.Marshal(step.Call{State: state, Event: e})
	if err != nil {
		t.Fatal(err)
	}
	out, err := auth.Step(helper{}, call)
	if err == nil {
		err = json.Unmarshal(out, &reply)
	}
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func printed(stdout string) step.Event {
	return step.Event{Run: &step.RunResult{Stdout: stdout}}
}

func wantFailure(t *testing.T, actions []step.Action, class, want string) *step.Fail {
	t.Helper()
	if len(actions) != 1 || actions[0].Fail == nil {
		t.Fatalf("%+v; want a failure: %s", actions, want)
	}
	fail := actions[0].Fail
	if fail.Class != class || !strings.Contains(fail.Message, want) || !strings.Contains(fail.Message, "tracker") {
		t.Errorf("%+v; want %s: %s", fail, class, want)
	}
	return fail
}

// Whatever the reason to sign in, the command is run anew.
func TestRunsEachTime(t *testing.T) {
	want := []step.Action{
		{Kind: step.ActionCredentials, Credentials: &step.Credentials{
			Headers: map[string]string{"Authorization": "Bearer abc"}, ExpiresAt: now.Add(time.Minute).UnixMilli(),
		}},
		{Kind: step.ActionDone},
	}
	for _, reason := range []string{step.ReasonInitial, step.ReasonExpired, step.ReasonChallenged, step.ReasonUpscope, step.ReasonLogin} {
		got := flow(t, step.Start{Reason: reason}, printed(`{"Authorization": "Bearer abc", "expires_in": 60}`))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", reason, got)
		}
	}
}

func TestLogout(t *testing.T) {
	reply := once(t, nil, step.Event{Kind: step.EventStart, Start: &step.Start{Reason: step.ReasonLogout, Server: step.Server{Name: "tracker"}}})
	wantFailure(t, reply.Actions, step.FailConfig, "nothing to sign out of")
}

// The one loop that a helper can cause is cut: a token that was refused is not
// given again.
func TestRefusedAgain(t *testing.T) {
	start := step.Start{Reason: step.ReasonChallenged, Challenge: &step.Challenge{Status: 401, Token: "abc"}}
	for _, stdout := range []string{`{"Authorization":"Bearer abc"}`, `{"authorization":"abc"}`, `{"token":"abc"}`} {
		wantFailure(t, flow(t, start, printed(stdout)), step.FailConfig, "does not take")
	}
	for _, stdout := range []string{`{"Authorization":"Bearer abd"}`, `{"token":"abd"}`, `{"X-Other":"abc"}`} {
		if got := flow(t, start, printed(stdout)); got[0].Credentials == nil {
			t.Errorf("%s: %+v", stdout, got)
		}
	}
}

func TestExpiredAlready(t *testing.T) {
	for _, stdout := range []string{`{"token":"abc","expires_at":"2026-01-31T12:00:00Z"}`, `{"token":"abc","expires_at":1700000000}`} {
		wantFailure(t, flow(t, step.Start{Reason: step.ReasonExpired}, printed(stdout)), step.FailRetry, "expired at")
	}
}

func TestCommandFails(t *testing.T) {
	exit := func(stderr string) step.Event {
		return step.Event{Run: &step.RunResult{Code: 3, Stdout: `{"token":"canary"}`, Stderr: stderr}}
	}
	for stderr, want := range map[string]string{
		"":                                    "ended with exit code 3",
		"warning: x\nno login\n\n":            "exit code 3: no login",
		"\x1b[31mred\x07\u202e\u0085 alert\r": "exit code 3: [31mred alert",
		strings.Repeat("ü", 400):              "exit code 3: " + strings.Repeat("ü", 150) + "…",
	} {
		fail := wantFailure(t, flow(t, step.Start{Reason: step.ReasonInitial}, exit(stderr)), step.FailRetry, want)
		if !strings.HasSuffix(fail.Message, want) || strings.Contains(fail.Message, "canary") {
			t.Errorf("%q: %q", stderr, fail.Message)
		}
	}
}

func TestCommandDoesNotRun(t *testing.T) {
	for code, class := range map[string]string{
		step.ProblemUnavailable: step.FailConfig,
		step.ProblemRefused:     step.FailConfig,
		step.ProblemTimeout:     step.FailRetry,
		step.ProblemNetwork:     step.FailRetry,
		step.ProblemCancelled:   step.FailRetry,
	} {
		problem := step.Event{Problem: &step.Problem{Code: code, Text: "why it is so"}}
		wantFailure(t, flow(t, step.Start{Reason: step.ReasonInitial}, problem), class, "why it is so")
	}
}

func TestCannotBeUsed(t *testing.T) {
	fail := wantFailure(t, flow(t, step.Start{Reason: step.ReasonInitial}, printed("canary")), step.FailConfig, "printed no JSON object: at its beginning is a letter")
	if !strings.Contains(fail.Hint, `{"headers"`) || strings.Contains(fail.Message, "canary") {
		t.Errorf("%+v", fail)
	}
}
