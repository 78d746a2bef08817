package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// printResult prints the result of a call, and says whether it is one that
// tells of a failure.
func (a *app) printResult(raw json.RawMessage) (failed bool, err error) {
	var result mcp.CallToolResult
	if err := json.Unmarshal(raw, &result); err != nil {
		return false, fmt.Errorf("call %s: the result is not one of a tool: %w", a.server, err)
	}
	if !a.forPeople() {
		return result.IsError, a.printRaw(raw)
	}
	return result.IsError, a.print(plain(resultText(&result)))
}

// resultText is a result for people: its blocks one below the other. The
// structured content says the same as the text, where there is text, and is
// shown only where there is none.
func resultText(result *mcp.CallToolResult) string {
	var out strings.Builder
	text := false
	for i := range result.Content {
		block := &result.Content[i]
		text = text || block.Type == mcp.ContentText
		out.WriteString(endLine(blockText(block)))
	}
	if !text && len(result.StructuredContent) > 0 {
		out.WriteString(endLine(indented(result.StructuredContent)))
	}
	return out.String()
}

func endLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// blockText is one block: text as it is, bytes only by their kind and size.
func blockText(block *mcp.Content) string {
	switch block.Type {
	case mcp.ContentText:
		return block.Text
	case mcp.ContentImage, mcp.ContentAudio:
		return note(block.MIMEType, size(block.Data))
	case mcp.ContentResourceLink:
		return note(block.URI, block.MIMEType, block.Name)
	case mcp.ContentResource:
		return resourceText(block.Resource)
	}
	if block.Raw != nil {
		return indented(block.Raw)
	}
	return note(block.Type)
}

func resourceText(resource *mcp.ResourceContents) string {
	switch {
	case resource == nil:
		return note("empty resource")
	case resource.Blob != "":
		return note(resource.URI, resource.MIMEType, size(resource.Blob))
	}
	return resource.Text
}

// note is a block in brackets: what is known of something that is not shown.
func note(facts ...string) string {
	var known []string
	for _, fact := range facts {
		if fact != "" {
			known = append(known, line(fact))
		}
	}
	return "[" + strings.Join(known, ", ") + "]"
}

// size is how many bytes there are behind base64.
func size(data string) string {
	bytes := len(strings.TrimRight(data, "=")) * 3 / 4
	if bytes == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", bytes)
}

func indented(value json.RawMessage) string {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return string(value)
	}
	return string(text)
}
