package control

import (
	"encoding/json"
	"time"
)

// EventKind says what an event is about.
type EventKind string

// The kinds of events. A reader passes over those that it does not know.
const (
	ServerState      EventKind = "server.state"
	ToolsChanged     EventKind = "tools.changed"
	PromptsChanged   EventKind = "prompts.changed"
	ResourcesChanged EventKind = "resources.changed"
	ResourceUpdated  EventKind = "resource.updated"
	Log              EventKind = "log"
	Stderr           EventKind = "stderr"
	Warning          EventKind = "warning"
	PluginWarning    EventKind = "plugin.warning"
	SignInNeeded     EventKind = "signin.needed"
	ConfigChanged    EventKind = "config.changed"
	ClientOfGateway  EventKind = "gateway.client"
	Gap              EventKind = "gap"
)

// Event is the params of the notification event.
type Event struct {
	Number  uint64          `json:"number" jsonschema:"grows by one from each event to the next; that of a gap is the last missed one's"`
	At      time.Time       `json:"at"`
	Kind    EventKind       `json:"kind" jsonschema:"what has happened; others may be added"`
	Server  string          `json:"server,omitempty" jsonschema:"the server that it is about"`
	State   *Server         `json:"state,omitempty" jsonschema:"of server.state"`
	Log     json.RawMessage `json:"log,omitempty" jsonschema:"of log: the params of notifications/message of MCP"`
	Plugin  string          `json:"plugin,omitempty" jsonschema:"of plugin.warning: the name of the plugin"`
	Text    string          `json:"text,omitempty" jsonschema:"of warning and plugin.warning: a text for people; of stderr: a line; of config.changed: why the configuration cannot be used"`
	Client  *GatewayClient  `json:"client,omitempty" jsonschema:"of gateway.client: a client that has come, or left"`
	Left    bool            `json:"left,omitempty" jsonschema:"of gateway.client: it has left"`
	URI     string          `json:"uri,omitempty" jsonschema:"of resource.updated: the resource, or a part of it"`
	Restart []string        `json:"restart,omitempty" jsonschema:"of config.changed: as in the result of config/get"`
	Missed  uint64          `json:"missed,omitempty" jsonschema:"of gap: how many events the editor has missed, where that is known"`
}
