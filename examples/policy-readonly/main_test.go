//go:build !wasip1

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/sdk/policy"
)

func TestDecide(t *testing.T) {
	const own = `{"allow":["files/touch","db-*/*"],"ask":["files/rm*"]}`
	for _, tt := range []struct{ call, settings, want string }{
		{`{"target":"tool","server":"files","name":"list","annotations":{"readOnlyHint":true}}`, `{}`, "allow"},
		{`{"target":"tool","server":"files","name":"list","annotations":{"readOnlyHint":false}}`, `{}`, "deny: files does not call list read-only"},
		{`{"target":"tool","server":"files","name":"list","annotations":{"readOnlyHint":"true"}}`, `{}`, "deny"},
		{`{"target":"tool","server":"files","name":"list","annotations":[]}`, `{}`, "deny"},
		{`{"target":"tool","server":"files","name":"list"}`, `{}`, "deny"},
		{`{"target":"tool","server":"files","name":"touch"}`, own, "allow"},
		{`{"target":"tool","server":"other","name":"touch"}`, own, "deny"},
		{`{"target":"tool","server":"db-1","name":"drop"}`, own, "allow"},
		{`{"target":"tool","server":"files","name":"rm-all"}`, own, "ask"},
		{`{"target":"prompt","server":"files","name":"x"}`, `{}`, "allow"},
		{`{"target":"resource","server":"files","name":"file:///x"}`, `{}`, "allow"},
		{`{"target":"other","server":"files","name":"x/y","method":"x/y"}`, `{}`, "deny: x/y is no method"},
		{`{"target":"new","server":"files","name":"x"}`, `{}`, "deny"},
		{`{"target":"tool","server":"files","name":"x"}`, `[]`, "deny: the settings"},
	} {
		var c policy.Call
		if err := json.Unmarshal([]byte(tt.call), &c); err != nil {
			t.Fatal(err)
		}
		c.Settings = json.RawMessage(tt.settings)
		if got := decide(&c).String(); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.call, got, tt.want)
		}
	}
}
