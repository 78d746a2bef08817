package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestJob(t *testing.T) {
	const scenario, revision, context = "MCP_CONFORMANCE_SCENARIO", "MCP_CONFORMANCE_PROTOCOL_VERSION", "MCP_CONFORMANCE_CONTEXT"
	tests := []struct {
		name    string
		args    []string
		env     map[string]string
		want    job
		problem string
	}{
		{name: "plain", args: []string{"u"}, env: map[string]string{scenario: "s", revision: "r"},
			want: job{url: "u", scenario: "s", revision: "r"}},
		{name: "calls", args: []string{"u"}, env: map[string]string{
			scenario: "s", context: `{"name":"s","toolCalls":[{"name":"t","arguments":{"a":1.0}}]}`},
			want: job{url: "u", scenario: "s", calls: []toolCall{{"t", []byte(`{"a":1.0}`)}}}},
		{name: "other context", args: []string{"u"}, env: map[string]string{scenario: "s", context: `{"client_id":"c"}`},
			want: job{url: "u", scenario: "s", account: account{ClientID: "c"}}},
		{name: "no url", env: map[string]string{scenario: "s"}, problem: "the URL of the server"},
		{name: "no scenario", args: []string{"u"}, problem: scenario},
		{name: "bad context", args: []string{"u"}, env: map[string]string{scenario: "s", context: "{"}, problem: context},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := newJob(test.args, func(name string) string { return test.env[name] })
			switch {
			case test.problem != "":
				if err == nil || !strings.Contains(err.Error(), test.problem) {
					t.Errorf("error %v, want %s in it", err, test.problem)
				}
			case err != nil:
				t.Error(err)
			case !reflect.DeepEqual(got, test.want):
				t.Errorf("read %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestProtocol(t *testing.T) {
	for revision, want := range map[string]string{
		"2024-11-05": "legacy",
		"2025-11-25": "legacy",
		"2026-07-28": "auto",
		"2031-01-01": "auto",
		"":           "auto",
	} {
		if got := (job{revision: revision}).protocol(); got != want {
			t.Errorf("revision %q: %s, want %s", revision, got, want)
		}
	}
}
