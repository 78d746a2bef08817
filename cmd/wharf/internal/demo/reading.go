package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// The resources. The clock changes every second.
const (
	about    = "demo://about"
	clock    = "demo://clock"
	greeting = "demo://greeting/"
)

// lists are the results of the methods that list something.
var lists = map[string]object{
	mcp.MethodListTools: {"tools": json.RawMessage(tools)},
	mcp.MethodListResources: {"resources": []object{
		{"uri": about, "name": "about", "mimeType": "text/plain", "description": "What this server is."},
		{"uri": clock, "name": "clock", "mimeType": "text/plain", "description": "The time in UTC; it changes every second."},
	}},
	mcp.MethodListTemplates: {"resourceTemplates": []object{
		{"uriTemplate": greeting + "{name}", "name": "greeting", "mimeType": "text/plain", "description": "A greeting."},
	}},
	mcp.MethodListPrompts: {"prompts": []object{{
		"name": "greet", "description": "Have a model greet a person.", "arguments": []object{
			{"name": "name", "description": "the person to greet", "required": true},
			{"name": "tone", "description": "the tone, such as warm"},
		},
	}}},
}

func readResource(uri string) (object, error) {
	text := ""
	switch name, found := strings.CutPrefix(uri, greeting); {
	case found && name != "" && !strings.Contains(name, "/"):
		text = "Hello, " + name + "!\n"
	case uri == about:
		text = "The demo server of Wharf: tools, resources and a prompt to try things out with.\n"
	case uri == clock:
		text = time.Now().UTC().Format(time.RFC3339) + "\n"
	default:
		return nil, &refusal{mcp.CodeInvalidParams, "Resource not found", object{"uri": uri}}
	}
	return cacheable(object{"contents": []textResource{{uri, "text/plain", text}}}), nil
}

func greet(r *request) (object, error) {
	if r.params.Name != "greet" {
		return nil, &refusal{Code: mcp.CodeInvalidParams, Message: fmt.Sprintf("unknown prompt %q", r.params.Name)}
	}
	var arguments struct{ Name, Tone string }
	if len(r.params.Arguments) > 0 && json.Unmarshal(r.params.Arguments, &arguments) != nil {
		return nil, &refusal{Code: mcp.CodeInvalidParams, Message: "invalid params"}
	}
	text := "Greet " + arguments.Name + "."
	if arguments.Tone != "" {
		text += " The tone is " + arguments.Tone + "."
	}
	return object{
		"description": "A greeting",
		"messages":    []object{{"role": "user", "content": textContent{"text", text}}},
	}, nil
}

// complete completes the arguments of the prompt, and of the template.
func complete(r *request) object {
	known := []string{"Ada", "Alan", "Grace"}
	if r.params.Argument.Name == "tone" {
		known = []string{"warm", "formal"}
	}
	values := []string{}
	for _, value := range known {
		if strings.HasPrefix(strings.ToLower(value), strings.ToLower(r.params.Argument.Value)) {
			values = append(values, value)
		}
	}
	completion := object{"values": values}
	if len(values) > 0 {
		completion["total"] = len(values)
	}
	return object{"completion": completion}
}
