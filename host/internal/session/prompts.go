package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// ListPrompts returns all prompts of the server; see [Session.ListTools].
func (s *Session) ListPrompts(ctx context.Context) ([]mcp.Prompt, error) {
	return listAll(ctx, s, &s.prompts, &promptKind)
}

var promptKind = kind[mcp.Prompt]{
	method: mcp.MethodListPrompts, member: "prompts", thing: "prompt", key: "name", needs: hasPrompts, read: readPrompt,
}

// readPrompt reads a prompt in place: its raw members alias text.
func readPrompt(text []byte, a *strictjson.Allowance) (p mcp.Prompt, name string, err error) {
	r := strictjson.Read(text).Within(a)
	p.Raw = text
	for key := range r.Members() {
		switch string(key) {
		case "name":
			p.Name = r.String()
		case "title":
			p.Title = r.String()
		case "description":
			p.Description = r.String()
		case "arguments":
			for range r.Array() {
				var a mcp.PromptArgument
				for key := range r.Members() {
					switch string(key) {
					case "name":
						a.Name = r.String()
					case "title":
						a.Title = r.String()
					case "description":
						a.Description = r.String()
					case "required":
						a.Required = r.Bool()
					}
				}
				p.Arguments = append(p.Arguments, a)
			}
		case "icons":
			p.Icons = r.Raw()
		case "_meta":
			p.Meta = r.Raw()
		}
	}
	return p, p.Name, r.Err()
}

// GetPrompt returns the messages of a prompt, with args as the values of its arguments.
func (s *Session) GetPrompt(ctx context.Context, name string, args map[string]string) (*mcp.GetPromptResult, error) {
	params := struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments,omitempty"`
	}{name, args}
	q := request{method: mcp.MethodGetPrompt, name: name, given: params, needs: hasPrompts}
	result := &mcp.GetPromptResult{}
	if err := s.requestInto(ctx, &q, result); err != nil {
		return nil, fmt.Errorf("get prompt %s on %s: %w", clip(name), s.cfg.Name, err)
	}
	return result, nil
}

// Complete asks the server for completions of an argument (2026-07-28/server/utilities/completion).
func (s *Session) Complete(ctx context.Context, p mcp.CompleteParams) (*mcp.Completion, error) {
	q := request{method: mcp.MethodComplete, given: p, needs: hasCompletions}
	var text json.RawMessage
	err := s.requestInto(ctx, &q, &text)
	result := &mcp.Completion{}
	if err == nil {
		err = invalid(json.Unmarshal(member(text, "completion"), result))
	}
	if err != nil {
		return nil, fmt.Errorf("complete %s on %s: %w", clip(p.Argument.Name), s.cfg.Name, err)
	}
	return result, nil
}
