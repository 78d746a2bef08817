package control

import (
	"encoding/json"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// The types of this file are the params and results of the protocol. Their tags say what schema.json
// says of each member. Members are added, and never renamed or removed: a reader passes over those
// that it does not know.

// Versions of the protocol that this package speaks. A number is added where an older reader would
// misunderstand a newer writer.
const (
	OldestVersion = 1
	NewestVersion = 1
)

// Program names a program.
type Program struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Capabilities are the requests of Wharf that an editor answers.
type Capabilities struct {
	Elicit   bool `json:"elicit,omitempty" jsonschema:"it shows forms of servers"`
	Sample   bool `json:"sample,omitempty" jsonschema:"its model answers for servers"`
	Roots    bool `json:"roots,omitempty" jsonschema:"it has folders that servers may know of"`
	OpenURL  bool `json:"openUrl,omitempty" jsonschema:"it opens pages, of sign-ins and of servers"`
	Prompt   bool `json:"prompt,omitempty" jsonschema:"it asks the person for a text, which may be secret"`
	ShowCode bool `json:"showCode,omitempty" jsonschema:"it shows a code and where to type it"`
	Approve  bool `json:"approve,omitempty" jsonschema:"it asks whether a server that came with a project may be used, and whether the configuration may be changed"`
}

// InitializeParams are the params of initialize, the first request of an editor.
type InitializeParams struct {
	Protocol     []int        `json:"protocol" jsonschema:"the oldest and the newest version that the editor speaks"`
	Client       Program      `json:"client" jsonschema:"the editor"`
	Capabilities Capabilities `json:"capabilities,omitzero" jsonschema:"the requests of Wharf that the editor answers"`
}

// InitializeResult is the result of initialize.
type InitializeResult struct {
	Protocol int      `json:"protocol" jsonschema:"the version that both speak from now on"`
	Wharf    Program  `json:"wharf"`
	Events   Position `json:"events" jsonschema:"the newest event, for events/since"`
	Methods  []string `json:"methods" jsonschema:"the methods that the editor may call"`
}

// Position is a place in the events of one run of Wharf.
type Position struct {
	Generation string `json:"generation" jsonschema:"differs from one run to the next: numbers of events begin anew in each"`
	Last       uint64 `json:"last" jsonschema:"the number of the newest event, 0 if there was none"`
}

// ServerParams name a server.
type ServerParams struct {
	Server string `json:"server" jsonschema:"the name of a configured server"`
}

// Server is the state of a server.
type Server struct {
	Name      string     `json:"name"`
	State     string     `json:"state" jsonschema:"disconnected, connecting, connected, reconnecting, auth-required, failed, disabled or closing"`
	Reason    string     `json:"reason" jsonschema:"why it is in that state"`
	Since     *time.Time `json:"since,omitempty" jsonschema:"when the state began"`
	Error     *Problem   `json:"error,omitempty" jsonschema:"the newest error; it stays when the server works again"`
	Attempt   int        `json:"attempt,omitempty" jsonschema:"how often it was dialled since it last worked"`
	RetryAt   *time.Time `json:"retryAt,omitempty" jsonschema:"when it is dialled next without being asked"`
	Era       string     `json:"era,omitempty" jsonschema:"legacy or modern"`
	Protocol  string     `json:"protocol,omitempty" jsonschema:"the revision of MCP in use"`
	Transport string     `json:"transport,omitempty" jsonschema:"the plugin that carries the session"`
	Tools     int        `json:"tools,omitempty" jsonschema:"how many the newest list had"`
	Stale     bool       `json:"stale,omitempty" jsonschema:"that list is from an earlier connection or run"`
}

// Problem is an error as a state or an answer shows it.
type Problem struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty" jsonschema:"what to do about it"`
}

// ErrorData is the member data of an error of the protocol.
type ErrorData struct {
	Kind      Kind            `json:"kind"`
	Hint      string          `json:"hint,omitempty" jsonschema:"what to do about it"`
	MaybeSent bool            `json:"maybeSent,omitempty" jsonschema:"the server may have acted on the request"`
	Server    json.RawMessage `json:"server,omitempty" jsonschema:"the error as the server wrote it"`
	Supported []int           `json:"supported,omitempty" jsonschema:"the oldest and the newest version of the protocol"`
}

// ServerList is the result of servers/list.
type ServerList struct {
	Servers []Server `json:"servers" jsonschema:"in the order of the configuration"`
}

// ToolList is the result of tools/list.
type ToolList struct {
	Tools []mcp.Tool `json:"tools"`
}

// CallParams are the params of tools/call.
type CallParams struct {
	Server    string          `json:"server" jsonschema:"the name of a configured server"`
	Name      string          `json:"name" jsonschema:"the tool"`
	Arguments json.RawMessage `json:"arguments,omitempty" jsonschema:"an object"`
	Progress  json.RawMessage `json:"progress,omitempty" jsonschema:"a string or a number of the editor's choice: each $/progress about the call has it as its token; without it none is sent"`
	Timeout   int             `json:"timeout,omitempty" jsonschema:"milliseconds, in place of the timeout of the server"`
}

// ResourceList is the result of resources/list.
type ResourceList struct {
	Resources []mcp.Resource `json:"resources"`
}

// TemplateList is the result of resources/templates.
type TemplateList struct {
	ResourceTemplates []mcp.ResourceTemplate `json:"resourceTemplates"`
}

// ReadParams are the params of resources/read.
type ReadParams struct {
	Server string `json:"server" jsonschema:"the name of a configured server"`
	URI    string `json:"uri"`
}

// RequestParams are the params of request.
type RequestParams struct {
	Server string          `json:"server" jsonschema:"the name of a configured server"`
	Method string          `json:"method" jsonschema:"a method of MCP, or of an extension"`
	Params json.RawMessage `json:"params,omitempty" jsonschema:"an object"`
}

// StartTaskParams are the params of tasks/start.
type StartTaskParams struct {
	Server    string          `json:"server" jsonschema:"the name of a configured server"`
	Name      string          `json:"name" jsonschema:"the tool"`
	Arguments json.RawMessage `json:"arguments,omitempty" jsonschema:"an object"`
	TTL       int             `json:"ttl,omitempty" jsonschema:"milliseconds for which a server of a legacy revision is asked to keep the task"`
}

// TaskParams name a task.
type TaskParams struct {
	Server string `json:"server" jsonschema:"the name of a configured server"`
	ID     string `json:"id" jsonschema:"the server's name for the task"`
}

// TaskList is the result of tasks/list.
type TaskList struct {
	Tasks []mcp.Task `json:"tasks"`
}

// PromptList is the result of prompts/list.
type PromptList struct {
	Prompts []mcp.Prompt `json:"prompts"`
}

// GetPromptParams are the params of prompts/get.
type GetPromptParams struct {
	Server    string          `json:"server" jsonschema:"the name of a configured server"`
	Name      string          `json:"name" jsonschema:"the prompt"`
	Arguments promptArguments `json:"arguments,omitempty"`
}

// promptArguments may be an empty list for none, as the arguments of a tool may.
type promptArguments map[string]string

func (a *promptArguments) UnmarshalJSON(text []byte) error {
	if none(text) {
		return nil
	}
	return json.Unmarshal(text, (*map[string]string)(a))
}

// CompleteParams are the params of complete.
type CompleteParams struct {
	Server   string               `json:"server" jsonschema:"the name of a configured server"`
	Ref      mcp.Ref              `json:"ref" jsonschema:"a prompt or a template of resources"`
	Argument mcp.Argument         `json:"argument" jsonschema:"the argument, and the beginning of its value"`
	Context  *mcp.CompleteContext `json:"context,omitempty" jsonschema:"the arguments that already have their values"`
}

// CompleteResult is the result of complete.
type CompleteResult struct {
	Completion *mcp.Completion `json:"completion"`
}

// Status is the result of status. Its counts are of this run.
type Status struct {
	Wharf       Program  `json:"wharf"`
	Editors     int      `json:"editors" jsonschema:"how many are served now"`
	Requests    uint64   `json:"requests" jsonschema:"of editors, that were answered"`
	Failed      uint64   `json:"failed" jsonschema:"of these, with an error"`
	Asked       uint64   `json:"asked" jsonschema:"requests of Wharf to editors"`
	Unanswered  uint64   `json:"unanswered" jsonschema:"of these, without an answer in time"`
	Connected   uint64   `json:"connected" jsonschema:"connections to servers that were ready for calls"`
	Reconnected uint64   `json:"reconnected" jsonschema:"of these, those of a server that had one before"`
	Stopped     uint64   `json:"stopped" jsonschema:"connections that were ended since no request needed the server"`
	Events      Position `json:"events"`
}

// SinceParams are the params of events/since.
type SinceParams struct {
	Generation string  `json:"generation,omitempty" jsonschema:"of the events that the editor has seen"`
	Number     *uint64 `json:"number,omitempty" jsonschema:"of the last event that the editor has seen; without it only new ones are sent"`
}

// TailParams are the params of logs/tail.
type TailParams struct {
	Server string `json:"server,omitempty" jsonschema:"the name of a configured server; without it, all of them"`
	Count  int    `json:"count,omitempty" jsonschema:"how many at most; without it, all that are kept"`
}

// LogTail is the result of logs/tail. What comes after it is told as events.
type LogTail struct {
	Events []json.RawMessage `json:"events" jsonschema:"of the kinds log, stderr, warning and plugin.warning, as the notification event has them; the oldest first"`
}

// RootsChangedParams are the params of the notification roots/changed.
type RootsChangedParams struct{}

// ProgressParams are the params of the notification $/progress.
type ProgressParams struct {
	Token json.RawMessage `json:"token" jsonschema:"the progress of the call"`
	Value mcp.Progress    `json:"value"`
}

// CancelParams are the params of the notification $/cancelRequest, of either side. The request is
// answered all the same: by the editor in any way, by Wharf with the error -32800 or with a result
// that came first.
type CancelParams struct {
	ID     json.RawMessage `json:"id" jsonschema:"of the request"`
	Reason string          `json:"reason,omitempty"`
}

// Empty is a result without members.
type Empty struct{}
