package control

import (
	"encoding/json"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// The types of this file are the params and results of the requests of Wharf to an editor. Texts
// come from servers, plugins and projects: an editor shows them as text, and never as markup.

// Action is what the person did with a question.
type Action string

// The actions. An editor that cannot ask answers with Cancel.
const (
	Accept  Action = "accept"
	Decline Action = "decline" // the person says no
	Cancel  Action = "cancel"  // the person gave no answer
)

// ElicitParams are the params of elicit: a form of a server, for the person.
type ElicitParams struct {
	Server  string          `json:"server" jsonschema:"the server that asks"`
	Message string          `json:"message" jsonschema:"the server's words"`
	Schema  json.RawMessage `json:"requestedSchema" jsonschema:"the fields of the form, a JSON Schema as MCP restricts it"`
	Fields  []string        `json:"fields" jsonschema:"the names of the fields in the server's order, for languages whose objects have none"`
}

// ElicitResult is the result of elicit.
type ElicitResult struct {
	Action  Action         `json:"action"`
	Content map[string]any `json:"content,omitempty" jsonschema:"what was filled in, with accept only"`
}

// SampleParams are the params of sample: a server asks for an answer of the editor's model.
type SampleParams struct {
	Server  string          `json:"server" jsonschema:"the server that asks"`
	Request json.RawMessage `json:"request" jsonschema:"the params of sampling/createMessage of MCP"`
}

// RootsResult is the result of roots.
type RootsResult struct {
	Roots []mcp.Root `json:"roots"`
}

// OpenURLParams are the params of openUrl. The page is https, or on this machine.
type OpenURLParams struct {
	Server  string `json:"server" jsonschema:"the server that the page is for"`
	URL     string `json:"url"`
	Message string `json:"message" jsonschema:"why the page is to be opened"`
	SignIn  bool   `json:"signIn" jsonschema:"Wharf signs in there; otherwise the server itself sends the person there, who has to consent"`
}

// OpenURLResult is the result of openUrl.
type OpenURLResult struct {
	Action  Action `json:"action"`
	Address string `json:"address,omitempty" jsonschema:"where the browser was sent at the end of a sign-in, if the browser runs on another machine"`
}

// PromptParams are the params of prompt: a question to the person.
type PromptParams struct {
	Server  string   `json:"server"`
	Label   string   `json:"label" jsonschema:"what is asked for"`
	Hint    string   `json:"hint,omitempty" jsonschema:"how to come by it"`
	Secret  bool     `json:"secret,omitempty" jsonschema:"what is typed must not be shown or kept"`
	Default string   `json:"default,omitempty" jsonschema:"the answer if nothing is typed"`
	Options []string `json:"options,omitempty" jsonschema:"the answers to choose from; without it any will do"`
	Refused bool     `json:"refused,omitempty" jsonschema:"the server refuses what was typed before"`
}

// PromptResult is the result of prompt.
type PromptResult struct {
	Action Action `json:"action"`
	Text   string `json:"text,omitempty"`
}

// ShowCodeParams are the params of showCode. The editor answers at once, or when the person has
// closed the code; a cancellation says that the code is needed no more.
type ShowCodeParams struct {
	Server   string `json:"server"`
	URL      string `json:"url" jsonschema:"the page at which the code is typed"`
	Code     string `json:"code"`
	Complete string `json:"complete,omitempty" jsonschema:"a URL with the code in it"`
}

// Decision is what the person decided about a server that came with a project.
type Decision string

// The decisions.
const (
	NotNow Decision = "not-now" // refuse, and ask again the next time
	Once   Decision = "once"    // allow as long as Wharf runs
	Always Decision = "always"  // allow until something about the server changes
	Never  Decision = "never"   // refuse until something about the server changes
)

// ApproveParams are the params of approve: a server that came with a project, which the person has
// not approved as it is now; or a change of the person's own configuration.
type ApproveParams struct {
	Server  string   `json:"server" jsonschema:"empty if it is a change that names none"`
	Project string   `json:"project" jsonschema:"the folder that it came with; empty for a change"`
	Hash    string   `json:"hash" jsonschema:"of all that the decision is about"`
	Changed bool     `json:"changed,omitempty" jsonschema:"the person has decided about it before, and it has changed since"`
	Lines   []string `json:"lines" jsonschema:"what would be started or reached, the dangers and the changes: show all"`
	Edit    bool     `json:"edit,omitempty" jsonschema:"it is a change of the person's own configuration, by config/edit, servers/enable or servers/remove of this editor: always writes it, and any other decision does not"`
}

// ApproveResult is the result of approve.
type ApproveResult struct {
	Decision Decision `json:"decision"`
}
