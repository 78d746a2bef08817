package mcp

// Filter names the changes that a client wants to hear of
// (2026-07-28/basic/patterns/subscriptions#notification-filter).
type Filter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`      // the list of tools
	Prompts   bool     `json:"promptsListChanged,omitempty"`    // the list of prompts
	Resources bool     `json:"resourcesListChanged,omitempty"`  // the list of resources
	URIs      []string `json:"resourceSubscriptions,omitempty"` // these resources themselves
	Tasks     []string `json:"taskIds,omitempty"`               // the tasks with these ids, see [ExtensionTasks]
}

// UnmarshalJSON reads a filter.
func (f *Filter) UnmarshalJSON(object []byte) error {
	type fields Filter
	*f = Filter{}
	return readBounded(object, (*fields)(f), "resourceSubscriptions", "taskIds")
}

// Empty reports whether the filter lets nothing through.
func (f Filter) Empty() bool {
	return !f.Tools && !f.Prompts && !f.Resources && len(f.URIs) == 0 && len(f.Tasks) == 0
}
