package sso_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
)

const (
	now      = int64(1_800_000_000_000)
	settings = `{"url":"https://sso.corp.example/token","client_id":"wharf & co","client_secret":"s3\"cr\u00e9t+/"}`
	form     = "grant_type=client_credentials&client_id=wharf%20%26%20co&client_secret=s3%22cr%C3%A9t%2B%2F&resource=https%3A%2F%2Ftracker.example%2Fmcp"
)

var key = step.RecordKey{Name: "token", Issuer: "https://sso.corp.example/token", Client: "wharf & co", Resource: "https://tracker.example/mcp"}

// bodies are answers of a sign-in: the seeds of the fuzzer.
var bodies = []string{
	`{"access_token":"abc","token_type":"Bearer","expires_in":3600}`,
	" {\n\t\"expires_in\" : 3600 , \"x\" : [ { } , [ ] , null , -1.5e+3 , \"\\\"}\" ] , \"access_token\" : \"a\\u0062c\" } ",
	`{"access_token":"abc"}`,
	`{"token_type":"BEARER","access_token":"abc","expires_in":"3600"}`,
	``, `null`, `[]`, `"abc"`, `{}`, `{"access_token":`, `{"access_token":"abc"`, `{"access_token":"abc"}}`, `{"access_token":5}`,
	`{"access_token":""}`, `{"access_token":"a b"}`, `{"access_token":"a\r\nb"}`, `{"access_token":"\ud83d\ude00"}`, `{"access_token":"\ud83d"}`,
	`{"access_token":"abc","token_type":"mac"}`, `{"x":{"access_token":"abc"}}`, `<html>`, strings.Repeat(`[`, 70),
}

func event(kind string) step.Event { return step.Event{Kind: kind} }

func start(reason string) step.Event {
	e := event(step.EventStart)
	e.Start = &step.Start{
		Reason: reason, Settings: json.RawMessage(settings), Client: step.Client{Name: "wharf", Version: "1"},
		Server: step.Server{Name: "tracker", URL: "https://tracker.example/mcp", Resource: "https://tracker.example/mcp"},
	}
	return e
}

func initial() step.Event { return start(step.ReasonInitial) }

func challenged(token string) step.Event {
	e := start(step.ReasonChallenged)
	e.Start.Challenge = &step.Challenge{Status: 401, Authenticate: []string{`Bearer error="invalid_token"`}, Token: token}
	return e
}

func none() step.Event { return event(step.EventLoaded) }

func record(token string, lives int64) step.Event {
	e := none()
	e.Record = &step.Record{Value: json.RawMessage(fmt.Sprintf(`{"token":%q,"expires_at":%d}`, token, now+lives))}
	return e
}

func answer(status int, body string) step.Event {
	e := event(step.EventResponse)
	e.Response = &step.Response{Status: status, URL: "https://sso.corp.example/token", Headers: map[string]string{"content-type": "application/json"}, Body: body}
	return e
}

func problem(kind, code string) step.Event {
	e := event(kind)
	e.Problem = &step.Problem{Code: code, Text: "why it is so"}
	return e
}

// The actions of the flows.
func reads(lock bool) []step.Action {
	return []step.Action{{Kind: step.ActionLoad, Load: &step.Load{Key: key, Lock: lock}}}
}

func asks() []step.Action {
	return []step.Action{{Kind: step.ActionHTTP, HTTP: &step.HTTP{
		Method: "POST", URL: "https://sso.corp.example/token", Body: form,
		Headers: map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"},
	}}}
}

func stores(value string) []step.Action {
	return []step.Action{{Kind: step.ActionStore, Store: &step.Store{Key: key, Value: json.RawMessage(value)}}}
}

func gives(token string, expires int64) []step.Action {
	return []step.Action{
		{Kind: step.ActionCredentials, Credentials: &step.Credentials{Scheme: "Bearer", Token: token, ExpiresAt: expires}},
		{Kind: step.ActionDone},
	}
}

func fails(class, message, hint string) []step.Action {
	return []step.Action{{Kind: step.ActionFail, Fail: &step.Fail{Class: class, Message: message, Hint: hint}}}
}

// line is what comes in, and what is done about it.
type line struct {
	event   step.Event
	actions []step.Action
}

// flows are the flows at the top of provider.c, and what goes wrong in them.
func flows(t *testing.T, p plugin) {
	const hour, margin = 3600_000, 60_000
	kept := fmt.Sprintf(`{"token":"abc","expires_at":%d}`, now+hour)
	give := line{answer(200, bodies[0]), stores(kept)}
	toAsk := []line{{start(step.ReasonLogin), reads(true)}, {none(), asks()}}
	toStore := append(toAsk[:2:2], give)
	for name, lines := range map[string][]line{
		"first": {{initial(), reads(false)}, {none(), reads(true)}, {none(), asks()}, give, {event(step.EventStored), gives("abc", now+hour)}},
		"fresh": {{initial(), reads(false)}, {record("old", margin+1), gives("old", now+margin+1)}},
		"stale, and another was faster": {
			{initial(), reads(false)}, {record("old", margin), reads(true)}, {record("new", hour), gives("new", now+hour)}},
		"expired":              {{start(step.ReasonExpired), reads(true)}, {record("old", margin), asks()}},
		"expired, never known": {{start(step.ReasonExpired), reads(true)}, {unexpiring("old"), asks()}},
		"never known":          {{initial(), reads(false)}, {unexpiring("old"), gives("old", 0)}},
		"refused":              {{challenged("old"), reads(true)}, {record("old", hour), asks()}},
		"refused, and another was faster": {
			{challenged("old"), reads(true)}, {record("new", hour), gives("new", now+hour)}},
		"login":                  {{start(step.ReasonLogin), reads(true)}, {record("old", hour), asks()}},
		"logout":                 {{start(step.ReasonLogout), forgets()}, {event(step.EventStored), []step.Action{{Kind: step.ActionDone}}}},
		"logout without a vault": {{start(step.ReasonLogout), forgets()}, {problem(step.EventStored, "unavailable"), fails("retry", "the token could not be removed from the vault, of tracker", "")}},
		"upscope":                {{start(step.ReasonUpscope), fails("config", "the client may not do what was asked of tracker", "ask those who run the sign-in for more rights")}},
		"another's record":       {{initial(), reads(false)}, {foreign(`"text"`), reads(true)}, {foreign(`{"token":"a b"}`), asks()}},
		"no vault": {
			{initial(), reads(false)}, {problem(step.EventLoaded, "unavailable"), reads(true)}, {problem(step.EventLoaded, "unavailable"), asks()},
			give, {problem(step.EventStored, "unavailable"), gives("abc", now+hour)}},
		"odd body":    append(toAsk[:2:2], line{answer(200, bodies[1]), stores(kept)}),
		"no expiry":   append(toAsk[:2:2], line{answer(200, bodies[2]), stores(`{"token":"abc"}`)}),
		"text expiry": append(toAsk[:2:2], line{answer(200, bodies[3]), stores(`{"token":"abc"}`)}),
		"client is refused": append(toAsk[:2:2], line{answer(401, `{"error":"invalid_client"}`),
			fails("config", "the sign-in of the company does not take the client id and secret of tracker", "check client_id and client_secret")}),
		"sign-in is down": append(toAsk[:2:2], line{answer(503, ""), fails("retry", "the sign-in of the company has no token now for tracker", "")}),
		"no network": append(toAsk[:2:2], line{problem(step.EventResponse, "network"),
			fails("retry", "the sign-in of the company cannot be reached for tracker", "")}),
		"policy": append(toAsk[:2:2], line{problem(step.EventResponse, "refused"),
			fails("config", "the sign-in of the company may not be asked for tracker", "check url, and the origins of the plugin")}),
		"lost its way":  append(toStore[:3:3], line{none(), fails("config", "this provider is built for another version of Wharf than the one that signs in to tracker", "get one that fits")}),
		"unknown event": {{initial(), reads(false)}, {event("moon"), fails("config", "this provider is built for another version of Wharf than the one that signs in to tracker", "get one that fits")}},
	} {
		t.Run(name, func(t *testing.T) { play(t, p, lines) })
	}
	for _, body := range bodies[4:] {
		bad := fails("retry", "the sign-in of the company answered without a bearer token for tracker", "check url: is it the token endpoint?")
		t.Run("body "+body[:min(len(body), 30)], func(t *testing.T) { play(t, p, append(toAsk[:2:2], line{answer(200, body), bad})) })
	}
	t.Run("settings", func(t *testing.T) { wrongSettings(t, p) })
	t.Run("process", func(t *testing.T) { process(t, p) })
}

func play(t *testing.T, p plugin, lines []line) {
	var state json.RawMessage
	for _, l := range lines {
		reply := p.step(t, state, l.event)
		same(t, reply.Actions, l.actions)
		state = reply.State
	}
}

func unexpiring(token string) step.Event { return foreign(fmt.Sprintf(`{"token":%q}`, token)) }

func foreign(value string) step.Event {
	e := none()
	e.Record = &step.Record{Value: json.RawMessage(value)}
	return e
}

func forgets() []step.Action {
	return []step.Action{{Kind: step.ActionForget, Forget: &step.Forget{Key: key}}}
}

// The secret goes nowhere where it can be overheard, and never out of a failure.
func wrongSettings(t *testing.T, p plugin) {
	for _, wrong := range []string{
		`{}`, `[]`, `{"url":"http://sso.corp.example/token","client_id":"a","client_secret":"canary"}`,
		`{"url":"https://","client_id":"a","client_secret":"canary"}`, `{"url":"https://sso","client_id":"","client_secret":"canary"}`,
		`{"url":"https://sso","client_id":"a"}`, `{"url":"https://sso","client_id":5,"client_secret":"canary"}`,
	} {
		e := initial()
		e.Start.Settings = json.RawMessage(wrong)
		same(t, p.step(t, nil, e).Actions,
			fails("config", "url, which begins with https, client_id and client_secret are wanted in the auth of tracker", ""))
	}
}

// A process gets its token in a variable.
func process(t *testing.T, p plugin) {
	for variable, want := range map[string]string{"": "CORP_TOKEN", `,"variable":"TOKEN"`: "TOKEN"} {
		e := initial()
		e.Start.Server = step.Server{Name: "tracker"}
		e.Start.Settings = json.RawMessage(strings.TrimSuffix(settings, "}") + variable + "}")
		reply := p.step(t, nil, e)
		if k := reply.Actions[0].Load.Key; k.Resource != "" {
			t.Errorf("%+v", k)
		}
		same(t, p.step(t, reply.State, record("abc", 3600_000)).Actions, []step.Action{
			{Kind: step.ActionMaterial, Material: &step.Material{Env: map[string]string{want: "abc"}}}, {Kind: step.ActionDone},
		})
	}
}
