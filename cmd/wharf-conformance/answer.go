package main

import (
	"encoding/json"
	"fmt"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// answer acts for a person who sends each form unchanged: a field with a default keeps it, and
// all others stay empty (SEP-1034). It declines a page to visit, since no person is there to see
// it.
func answer(e mcp.Elicitation) (mcp.ElicitResult, error) {
	if e.Mode != mcp.ElicitForm {
		return mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	var form struct {
		Properties map[string]struct {
			Default json.RawMessage `json:"default"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(e.RequestedSchema, &form); err != nil {
		return mcp.ElicitResult{}, fmt.Errorf("requestedSchema: %w", err)
	}
	content := make(map[string]any)
	for name, field := range form.Properties {
		if field.Default != nil {
			content[name] = field.Default
		}
	}
	return mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
}
