package mcp

import "encoding/json"

// Tool is an action that a server offers (2026-07-28/server/tools). The schemas are byte for
// byte as the server sent them, and JSON Schema 2020-12 unless they say otherwise. Do not follow
// a reference in them to the network unless the user has asked for that.
type Tool struct {
	Name         string           `json:"name"`
	Title        string           `json:"title,omitempty"`
	Description  string           `json:"description,omitempty"`
	InputSchema  json.RawMessage  `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage  `json:"outputSchema,omitempty"`
	Annotations  *ToolAnnotations `json:"annotations,omitempty"`
	Execution    *ToolExecution   `json:"execution,omitempty"` // 2025-11-25 only
	Icons        json.RawMessage  `json:"icons,omitempty"`     // see ReadIcons
	Meta         json.RawMessage  `json:"_meta,omitempty"`

	Raw json.RawMessage `json:"-"` // the whole object
}

// MarshalJSON writes Raw where it is set, and the fields otherwise.
func (t Tool) MarshalJSON() ([]byte, error) {
	type fields Tool
	return writeWhole(t.Raw, fields(t))
}

// UnmarshalJSON reads a tool and keeps the whole of it in Raw.
func (t *Tool) UnmarshalJSON(object []byte) (err error) {
	type fields Tool
	*t = Tool{}
	t.Raw, err = readWhole(object, "", (*fields)(t))
	return err
}

// ToolAnnotations are what a server claims about its tool. Do not let anything that matters
// depend on them unless the server is trusted. A hint that was not given is nil; the comments
// say what the specification then assumes.
type ToolAnnotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    *bool  `json:"readOnlyHint,omitempty"`    // false: it may change things
	DestructiveHint *bool  `json:"destructiveHint,omitempty"` // true: the change may destroy
	IdempotentHint  *bool  `json:"idempotentHint,omitempty"`  // false: calling it twice differs from calling it once
	OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`   // true: it talks to the world outside
}

// ToolExecution says how a tool wants to be run
// (2025-11-25/basic/utilities/tasks#tool-level-negotiation).
type ToolExecution struct {
	TaskSupport string `json:"taskSupport,omitempty"` // "forbidden" where it is not given
}

// The values of [ToolExecution.TaskSupport].
const (
	TaskForbidden = "forbidden"
	TaskOptional  = "optional"
	TaskRequired  = "required"
)

// CallToolResult is the answer to [MethodCallTool]. IsError says that the tool ran and failed;
// the content then tells a model what went wrong. An error of the protocol is something else.
type CallToolResult struct {
	Content           []Content       `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"` // any JSON value
	IsError           bool            `json:"isError,omitempty"`
	ResultType        ResultType      `json:"resultType,omitempty"` // "" in the legacy era
	Meta              json.RawMessage `json:"_meta,omitempty"`

	Raw json.RawMessage `json:"-"` // the whole object
}

// MarshalJSON writes Raw where it is set, and the fields otherwise.
func (r CallToolResult) MarshalJSON() ([]byte, error) {
	type fields CallToolResult
	return writeWhole(r.Raw, fields(r))
}

// UnmarshalJSON reads a result and keeps the whole of it in Raw.
func (r *CallToolResult) UnmarshalJSON(object []byte) (err error) {
	type fields CallToolResult
	*r = CallToolResult{}
	r.Raw, err = readWhole(object, "content", (*fields)(r))
	return err
}
