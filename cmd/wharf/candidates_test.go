package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// TestCandidates completes words of every command that is about a server.
func TestCandidates(t *testing.T) {
	c := &candidates{
		tools: []mcp.Tool{
			{Name: "list", InputSchema: json.RawMessage(`{"properties":{"kind":{"enum":["all","any","none"]},"deep":{"type":"boolean"},"n":{"type":"integer"}}}`)},
			{Name: "weather", InputSchema: json.RawMessage(`{"properties":{"city":{"enum":["Bonn","Rome\u202e","Riga"]}}}`)},
			{Name: "mixed", InputSchema: json.RawMessage(`{"properties":{"e":{"enum":["a",1,true,null]}}}`)},
			{Name: "load"}, {Name: "bad\nname"}, {Name: strings.Repeat("l", 1000)}, {Name: "l\u009b31m"}, {Name: "l\u202emoor"}, {Name: "l\xff"}, {Name: "--yes"},
		},
		prompts:   []mcp.Prompt{{Name: "greet", Arguments: []mcp.PromptArgument{{Name: "who"}, {Name: "how"}, {Name: "--yes"}}}, {Name: "-q"}},
		resources: []mcp.Resource{{URI: "demo://about"}, {URI: "demo://about"}, {URI: "--config=x"}, {URI: "demo://\u009d0;"}},
		templates: []mcp.ResourceTemplate{{URITemplate: "demo://{name}/x"}, {URITemplate: "{any}"}},
	}
	for line, want := range map[string]string{
		"call l":                    "[list load]",
		"call x":                    "[]",
		"call -":                    "[]",
		"read -":                    "[]",
		"prompt -":                  "[]",
		"tools li":                  "[list]",
		"tools list x":              "[]",
		"call list ":                "[deep= kind= n=]",
		"call list kind=any ":       "[deep= n=]",
		"call list deep:=1 ":        "[kind= n=]",
		"call list kind=a":          "[kind=all kind=any]",
		"call list deep=":           "[deep=false deep=true]",
		"call weather city=":        "[]", // one of them cannot be shown, and so could not be chosen
		"call weather city=B":       "[city=Bonn]",
		"call mixed e=":             "[e=1 e=a e=null e=true]", // null is no empty text
		"call nosuch ":              "[]",
		"prompt ":                   "[greet]",
		"prompt greet ":             "[how= who=]",
		"prompt greet who=x ":       "[how=]",
		"complete ":                 "[demo://{name}/x greet {any}]",
		"complete greet w":          "[who=]",
		"complete greet who=":       "[]",
		"complete demo://{name}/x ": "[name=]",
		"read ":                     "[demo:// demo://about]",
		"read demo://about ":        "[]",
		"watch demo://about dem":    "[demo:// demo://about]",
		"ping ":                     "[]",
	} {
		words := strings.Split(line, " ")
		last := len(words) - 1
		if got := fmt.Sprint(c.next(words[0], words[1:last], words[last])); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}
