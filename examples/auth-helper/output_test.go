//go:build !wasip1

package main

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

func TestParse(t *testing.T) {
	headers := func(pairs ...string) map[string]string {
		h := make(map[string]string)
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i]] = pairs[i+1]
		}
		return h
	}
	bearer := headers("Authorization", "Bearer abc")
	hour := now.Add(time.Hour).UnixMilli()
	for _, tt := range []struct {
		text string
		want step.Credentials
	}{
		{`{"Authorization":"Bearer abc"}`, step.Credentials{Headers: bearer}},
		{"\uFEFF\r\n {\"Authorization\" : \"Bearer abc\" }\r\n", step.Credentials{Headers: bearer}},
		{`{"headers":{"Authorization":"Bearer abc"}}`, step.Credentials{Headers: bearer}},
		{`{"headers":{"A":"1","B":"2"},"expires_in":3600}`, step.Credentials{Headers: headers("A", "1", "B", "2"), ExpiresAt: hour}},
		{`{"A":"1","expires_in":3600.0}`, step.Credentials{Headers: headers("A", "1"), ExpiresAt: hour}},
		{`{"A":"1","expires_at":"2026-01-31T14:00:00+01:00"}`, step.Credentials{Headers: headers("A", "1"), ExpiresAt: hour}},
		{fmt.Sprintf(`{"A":"1","expires_at":%d}`, hour/1000), step.Credentials{Headers: headers("A", "1"), ExpiresAt: hour}},
		{fmt.Sprintf(`{"A":"1","expires_at":%d.5}`, hour/1000), step.Credentials{Headers: headers("A", "1"), ExpiresAt: hour + 500}},
		{`{"token":"abc"}`, step.Credentials{Scheme: "Bearer", Token: "abc"}},
		{`{"token":"abc","headers":{}}`, step.Credentials{Scheme: "Bearer", Token: "abc"}},
		{`{"token":"abc","headers":{"X-Tenant":"blue"}}`, step.Credentials{Headers: headers("Authorization", "Bearer abc", "X-Tenant", "blue")}},
		{`{"token":"abc","X-Tenant":"blue"}`, step.Credentials{Headers: headers("Authorization", "Bearer abc", "X-Tenant", "blue")}},
	} {
		o, err := parse(tt.text, now)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
		} else if got := o.credentials(); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v", tt.text, got)
		}
	}
}

// bad are texts that no command should print, and what is said of them. The
// canary stands where a secret might.
var bad = []struct{ text, want string }{
	{"", "nothing"},
	{" \n", "nothing"},
	{"canary", "is a letter"},
	{"Bearer canary", "is a letter"},
	{`"canary"`, "a text in quotes"},
	{`["canary"]`, "a list"},
	{`<html>canary`, "as in HTML"},
	{`4canary`, "a digit"},
	{`$canary`, "a sign"},
	{"\x00canary", "no text"},
	{`{"canary`, "broken at about byte"},
	{`{"A":"canary"`, "broken at about byte"},
	{`{"A":canary}`, "broken at about byte"},
	{`{"A":"canary",}`, "broken"},
	{`{canary:1}`, "broken at about byte"},
	{`{"A":"1"} canary`, "something after"},
	{`{"A":"1"}{"A":"canary"}`, "something after"},
	{`{"A":"1","A":"canary"}`, "twice"},
	{`{"A":"1","a":"canary"}`, "twice"},
	{`{"headers":{"A":"1","A":"canary"}}`, `in "headers" a JSON object with a key`},
	{`{}`, "no headers"},
	{`{"headers":{}}`, "no headers"},
	{`{"expires_in":3600}`, "no headers"},
	{`{"headers":"canary"}`, `in "headers" no JSON object`},
	{`{"headers":null}`, `in "headers" no JSON object`},
	{`{"headers":{"A":"1"},"canary":1}`, `a key beside "headers"`},
	{`{"headers":{"A":"1"},"B":"canary"}`, `a key beside "headers"`},
	{`{"A":5}`, "no text"},
	{`{"A":null}`, "no text"},
	{`{"A":["canary"]}`, "no text"},
	{`{"access_token":"canary","expires":{"in":5}}`, "no text"},
	{`{"A":""}`, "is empty"},
	{`{"A":"canary\r\nB: 1"}`, "line end"},
	{`{"A":"canary\u0000"}`, "control character"},
	{`{"canary canary":"1"}`, "name of a header"},
	{`{"Host":"canary"}`, "the header Host"},
	{`{"Content-Length":"1"}`, "the header Content-…"},
	{`{"Mcp-Session-Id":"canary"}`, "the header Mcp-…"},
	{`{"token":""}`, `"token"`},
	{`{"token":5}`, `"token"`},
	{`{"token":null}`, `"token"`},
	{`{"token":"Bearer canary"}`, "a space or a line end"},
	{`{"token":"canary\n"}`, "a space or a line end"},
	{`{"token":"canary","Authorization":"canary"}`, "both"},
	{`{"token":"canary","headers":{"authorization":"canary"}}`, "both"},
	{`{"A":"1","expires_in":60,"expires_at":1}`, "both expires_at and expires_in"},
	{`{"A":"1","expires_in":"60"}`, "expires_in"},
	{`{"A":"1","expires_in":0}`, "expires_in"},
	{`{"A":"1","expires_in":-1}`, "expires_in"},
	{`{"A":"1","expires_in":1e300}`, "expires_in"},
	{`{"A":"1","expires_in":1e999}`, "expires_in"},
	{`{"A":"1","expires_in":null}`, "expires_in"},
	{`{"A":"1","expires_at":null}`, "expires_at"},
	{`{"A":"1","expires_at":1769864400000}`, "expires_at"},
	{`{"A":"1","expires_at":"canary"}`, "expires_at"},
	{`{"A":"1","expires_at":"0001-01-01T00:00:00Z"}`, "expires_at"},
	{`{"A":"1","expires_at":[]}`, "expires_at"},
	{`{"A":"` + strings.Repeat("x", maxBytes) + `"}`, "there may be 64 of 32768"},
	{many(maxHeaders + 1), "65 headers"},
	{`{"A":` + strings.Repeat("[", 20_000), "broken"},
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"A%d":"1"`, i)
	}
	return "{" + b.String()[1:] + "}"
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range bad {
		text := tt.text[:min(len(tt.text), 80)]
		o, err := parse(tt.text, now)
		if err == nil {
			t.Errorf("%s: %+v; want %q", text, o, tt.want)
		} else if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v; want %q", text, err, tt.want)
		}
	}
}

func TestMostHeaders(t *testing.T) {
	if o, err := parse(many(maxHeaders), now); err != nil || len(o.headers) != maxHeaders {
		t.Error(len(o.headers), err)
	}
}

// Whatever a command prints, what comes out can be sent, and lasts no longer than
// a life; and what is wrong with it is said in our words.
func FuzzParse(f *testing.F) {
	for _, tt := range bad {
		f.Add(tt.text[:min(len(tt.text), 500)])
	}
	f.Add(`{"token":"abc","headers":{"X":"1"},"expires_at":"2026-01-31T14:00:00+01:00"}`)
	f.Add(`{"A":"1","expires_in":1e-30}`)
	f.Fuzz(func(t *testing.T, text string) {
		o, err := parse(text, now)
		if err != nil {
			if len(err.Error()) > 160 {
				t.Fatalf("%d bytes of error: %v", len(err.Error()), err)
			}
			return
		}
		c := o.credentials()
		headers := maps.Clone(c.Headers)
		if c.Token != "" {
			headers = map[string]string{"Authorization": c.Scheme + " " + c.Token}
		}
		if len(headers) == 0 || c.ExpiresAt < 0 || c.ExpiresAt > maxMoment*1000 {
			t.Fatalf("%+v", c)
		}
		for name, value := range headers {
			if err := auth.CheckHeader(name, value); err != nil {
				t.Fatal(err)
			}
		}
	})
}
