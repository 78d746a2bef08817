package mcp

import "encoding/json"

// Filter says which changes a client wants to hear of
// (2026-07-28/basic/patterns/subscriptions#notification-filter).
type Filter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`      // the list of tools
	Prompts   bool     `json:"promptsListChanged,omitempty"`    // the list of prompts
	Resources bool     `json:"resourcesListChanged,omitempty"`  // the list of resources
	URIs      []string `json:"resourceSubscriptions,omitempty"` // these resources themselves
}

// UnmarshalJSON reads a filter.
func (f *Filter) UnmarshalJSON(object []byte) error {
	type fields Filter
	*f = Filter{}
	bounded := struct {
		*fields
		URIs list[string] `json:"resourceSubscriptions"`
	}{fields: (*fields)(f)}
	err := json.Unmarshal(object, &bounded)
	f.URIs = bounded.URIs
	return err
}

// Empty reports whether the filter lets nothing through.
func (f Filter) Empty() bool { return !f.Tools && !f.Prompts && !f.Resources && len(f.URIs) == 0 }
