package main

import (
	"encoding/json"
	"testing"

	"github.com/wharf-mcp/wharf/host/mcp"
)

func TestAnswer(t *testing.T) {
	tests := []struct {
		name, mode, schema string
		want               string // "" is an error
	}{
		{"defaults", mcp.ElicitForm,
			`{"properties":{"a":{"default":"x"},"b":{"default":95.50},"c":{"default":false},"d":{"default":["p"]}}}`,
			`{"action":"accept","content":{"a":"x","b":95.50,"c":false,"d":["p"]}}`},
		{"no default", mcp.ElicitForm, `{"properties":{"a":{"type":"boolean"}}}`, `{"action":"accept"}`},
		{"no fields", mcp.ElicitForm, `{}`, `{"action":"accept"}`},
		{"page", mcp.ElicitURL, ``, `{"action":"decline"}`},
		{"no schema", mcp.ElicitForm, `7`, ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := answer(mcp.Elicitation{Mode: test.mode, RequestedSchema: json.RawMessage(test.schema)})
			if (err != nil) != (test.want == "") {
				t.Fatalf("error %v", err)
			}
			text, _ := json.Marshal(got)
			if err == nil && string(text) != test.want {
				t.Errorf("answered %s, want %s", text, test.want)
			}
		})
	}
}
