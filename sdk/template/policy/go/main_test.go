//go:build !wasip1

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/sdk/policy"
)

func TestDecide(t *testing.T) {
	for _, tt := range []struct{ call, want string }{
		{`{"target":"tool","name":"list","settings":{},"annotations":{"readOnlyHint":true}}`, "allow"},
		{`{"target":"tool","name":"add","settings":{},"annotations":{"readOnlyHint":false,"destructiveHint":false}}`, "allow"},
		{`{"target":"tool","name":"rm","settings":{}}`, "ask: rm may destroy"},
		{`{"target":"tool","name":"rm","settings":{"strict":true}}`, "deny: rm may destroy"},
		{`{"target":"prompt","name":"p","settings":{}}`, "allow"},
		{`{"target":"resource","name":"file:///x","settings":{}}`, "allow"},
		{`{"target":"other","method":"x/y","name":"x/y","settings":{}}`, "deny: x/y is no method"},
		{`{"target":"tool","name":"rm","settings":[]}`, "deny: the settings"},
	} {
		var c policy.Call
		if err := json.Unmarshal([]byte(tt.call), &c); err != nil {
			t.Fatal(err)
		}
		if got := decide(&c).String(); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.call, got, tt.want)
		}
	}
}
