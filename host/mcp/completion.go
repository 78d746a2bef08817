package mcp

import "encoding/json"

// Ref names the prompt or resource template whose argument is to be completed
// (2026-07-28/server/utilities/completion). [PromptRef] and [ResourceRef] make one.
type Ref struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"` // of a prompt
	URI  string `json:"uri,omitempty"`  // of a resource, or its template
}

// PromptRef refers to the prompt of that name, for a completion of one of its arguments.
func PromptRef(name string) Ref { return Ref{Type: "ref/prompt", Name: name} }

// ResourceRef refers to a URI template, for a completion of one of its variables.
func ResourceRef(uri string) Ref { return Ref{Type: "ref/resource", URI: uri} }

// CompleteParams are the params of [MethodComplete].
type CompleteParams struct {
	Ref      Ref              `json:"ref"`
	Argument Argument         `json:"argument"`
	Context  *CompleteContext `json:"context,omitempty"`
}

// Argument is the argument to complete: its name, and the beginning of its value.
type Argument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// CompleteContext holds the arguments that already have their values.
type CompleteContext struct {
	Arguments map[string]string `json:"arguments,omitempty"`
}

// Completion is what a server proposes, best first; it lists at most a hundred values. Total is
// the number of all matching values, if the server tells.
type Completion struct {
	Values  []string `json:"values"`
	Total   *int64   `json:"total,omitempty"`
	HasMore bool     `json:"hasMore,omitempty"`

	Raw json.RawMessage `json:"-"` // the whole object
}

// MarshalJSON writes Raw where it is set, and the fields otherwise.
func (c Completion) MarshalJSON() ([]byte, error) {
	type fields Completion
	return writeWhole(c.Raw, fields(c))
}

// UnmarshalJSON reads a completion and keeps the whole of it in Raw.
func (c *Completion) UnmarshalJSON(object []byte) (err error) {
	type fields Completion
	*c = Completion{}
	c.Raw, err = readWhole(object, "values", (*fields)(c))
	return err
}
