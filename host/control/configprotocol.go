package control

import (
	"encoding/json"
	"time"

	"github.com/wharf-mcp/wharf/host/config/inventory"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/host/trust"
)

// The types of this file are the params and results of the methods about the configuration.

// AddServerParams are the params of servers/add.
type AddServerParams struct {
	Entry   json.RawMessage `json:"entry" jsonschema:"an object with name and the keys of [servers.NAME] in a configuration"`
	Replace bool            `json:"replace,omitempty" jsonschema:"it may take the place of the server of that name"`
}

// AddServerResult is the result of servers/add. Nothing is written yet.
type AddServerResult struct {
	Handle string    `json:"handle" jsonschema:"for servers/confirm: of this editor, for one time"`
	Until  time.Time `json:"until" jsonschema:"when the handle expires"`
	Lines  []string  `json:"lines" jsonschema:"what would be written, what it would do, and the dangers: show all before you confirm"`
	Needs  []Need    `json:"needs" jsonschema:"what the person has to do or to agree to before the server can be used"`
}

// Need is what an entry needs before it can be used.
type Need struct {
	Kind  NeedKind `json:"kind" jsonschema:"others may be added"`
	Name  string   `json:"name" jsonschema:"of the server, the plugin, the variable or the secret"`
	Grant string   `json:"grant,omitempty" jsonschema:"of grant: what the plugin is given: process, http, stream or sign-in"`
}

// NeedKind says what is needed.
type NeedKind string

// The kinds of needs.
const (
	NeedTrust    NeedKind = "trust"    // the person agrees to what it does
	NeedPlugin   NeedKind = "plugin"   // a plugin is installed that is not
	NeedGrant    NeedKind = "grant"    // the person agrees to what a plugin is given that is no part of Wharf
	NeedVariable NeedKind = "variable" // a variable of the environment is set that is not
	NeedSecret   NeedKind = "secret"   // a secret is stored that is not
)

// ConfirmParams are the params of servers/confirm.
type ConfirmParams struct {
	Handle string `json:"handle" jsonschema:"of servers/add"`
}

// Configured is the result of config/get and config/reload.
type Configured struct {
	File     string            `json:"file" jsonschema:"that methods of this protocol change; it need not exist"`
	Servers  []inventory.Entry `json:"servers" jsonschema:"without secrets, as the command servers lists them in JSON"`
	Warnings []string          `json:"warnings,omitempty" jsonschema:"what is wrong with parts of the configuration that are not used"`
	Restart  []string          `json:"restart,omitempty" jsonschema:"keys at the top of the file that hold from the next start of Wharf on, as their values were changed since it was started"`
}

// EditParams are the params of config/edit.
type EditParams struct {
	Edits []ConfigEdit `json:"edits" jsonschema:"made in this order, all of them or none; 100 at most"`
}

// ConfigEdit is a change of one key.
type ConfigEdit struct {
	Op    EditOp          `json:"op"`
	Path  []string        `json:"path" jsonschema:"the names of the tables and of the key, such as servers, files, timeout"`
	Value json.RawMessage `json:"value,omitempty" jsonschema:"of set: a text, a number, true or false, a list or an object of these"`
}

// EditOp says what an edit does.
type EditOp string

// The edits.
const (
	OpSet   EditOp = "set"
	OpUnset EditOp = "unset" // removes a key, or a table with all that is in it
)

// EditResult is the result of config/edit.
type EditResult struct {
	Changed bool     `json:"changed" jsonschema:"the file is another now"`
	Asked   []string `json:"asked,omitempty" jsonschema:"the keys that the person has agreed to"`
}

// TrustList is the result of trust/list.
type TrustList struct {
	Servers []inventory.Decision `json:"servers" jsonschema:"those of the project, and those of others that the person has decided about"`
}

// Trusted is the result of trust/allow and trust/deny.
type Trusted struct {
	State trust.State `json:"state" jsonschema:"approved, denied, changed or not approved"`
}

// PluginList is the result of plugins/list.
type PluginList struct {
	Plugins []pluginstore.Listed `json:"plugins"`
}

// PluginParams name a plugin.
type PluginParams struct {
	Plugin string `json:"plugin" jsonschema:"the name of one that is part of Wharf, installed, or in the configuration"`
}

// TraceParams are the params of trace/start, and the result of trace/stop.
type TraceParams struct {
	File string `json:"file" jsonschema:"its whole path; only the user can read it, and it has no secrets that Wharf knows of"`
}
