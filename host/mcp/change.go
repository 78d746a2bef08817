package mcp

// ChangeKind says what a [Change] is about.
type ChangeKind string

// The kinds of changes. The first three are about lists; Missed says that the
// server was out of hearing for a while, or too fast, so that everything that the
// subscription is about may have changed.
const (
	ToolsChanged     ChangeKind = "tools"
	PromptsChanged   ChangeKind = "prompts"
	ResourcesChanged ChangeKind = "resources"
	ResourceUpdated  ChangeKind = "resource" // with a URI
	TaskChanged      ChangeKind = "task"     // with a Task
	Missed           ChangeKind = "missed"
)

// Change is something that a server told of. It says that there is something new,
// not what.
type Change struct {
	Kind ChangeKind `json:"kind"`
	URI  string     `json:"uri,omitempty"`  // perhaps of a part of what was subscribed to
	Task string     `json:"task,omitempty"` // the id of one
}
