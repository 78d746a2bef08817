package mcp

import "encoding/json"

// Prompt is a template of messages that a server offers to people
// (2026-07-28/server/prompts).
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
	Icons       json.RawMessage  `json:"icons,omitempty"` // see ReadIcons
	Meta        json.RawMessage  `json:"_meta,omitempty"`

	Raw json.RawMessage `json:"-"` // the whole object
}

// PromptArgument is an argument of a prompt. Its values are strings.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// MarshalJSON writes Raw where it is set, and the fields otherwise.
func (p Prompt) MarshalJSON() ([]byte, error) {
	type fields Prompt
	return writeWhole(p.Raw, fields(p))
}

// UnmarshalJSON reads a prompt and keeps the whole of it in Raw.
func (p *Prompt) UnmarshalJSON(object []byte) (err error) {
	type fields Prompt
	*p = Prompt{}
	p.Raw, err = readWhole(object, "arguments", (*fields)(p))
	return err
}

// GetPromptResult is the answer to [MethodGetPrompt]: messages for a model.
type GetPromptResult struct {
	Description string          `json:"description,omitempty"`
	Messages    []PromptMessage `json:"messages"`
	Meta        json.RawMessage `json:"_meta,omitempty"`

	Raw json.RawMessage `json:"-"` // the whole object
}

// PromptMessage is one message. Role is "user" or "assistant".
type PromptMessage struct {
	Role    string  `json:"role"`
	Content Content `json:"content"`
}

// MarshalJSON writes Raw where it is set, and the fields otherwise.
func (r GetPromptResult) MarshalJSON() ([]byte, error) {
	type fields GetPromptResult
	return writeWhole(r.Raw, fields(r))
}

// UnmarshalJSON reads a result and keeps the whole of it in Raw.
func (r *GetPromptResult) UnmarshalJSON(object []byte) (err error) {
	type fields GetPromptResult
	*r = GetPromptResult{}
	r.Raw, err = readWhole(object, "messages", (*fields)(r))
	return err
}
