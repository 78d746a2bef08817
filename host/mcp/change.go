package mcp

// ChangeKind says what a [Change] is about.
type ChangeKind string

// The kinds of changes. The first three are about lists. Missed says that the client may have
// missed changes, because the server was out of reach or too fast: everything that the
// subscription is about may have changed.
const (
	ToolsChanged     ChangeKind = "tools"
	PromptsChanged   ChangeKind = "prompts"
	ResourcesChanged ChangeKind = "resources"
	ResourceUpdated  ChangeKind = "resource" // with a URI
	TaskChanged      ChangeKind = "task"     // with a Task
	Missed           ChangeKind = "missed"
)

// Change is a change that a server reported. It says what has to be read again, and does not
// have the new content.
type Change struct {
	Kind ChangeKind `json:"kind"`
	URI  string     `json:"uri,omitempty"`  // may be a part of the resource that was subscribed to
	Task string     `json:"task,omitempty"` // the id of a task
}
