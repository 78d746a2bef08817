package session

import (
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/jsontext"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// readCall reads a CallToolResult in place, each byte once: this is the one
// result that is often large. What is raw aliases text; strings are copies.
func readCall(text []byte) (*mcp.CallToolResult, error) {
	out := &mcp.CallToolResult{Content: []mcp.Content{}}
	r := jsontext.Read(text)
	var bad error
	for key := range r.Object() {
		if r.Null() {
			continue
		}
		switch string(key) {
		case "content":
			out.Content, bad = readContent(r)
		case "structuredContent":
			out.StructuredContent = r.Raw()
		case "isError":
			out.IsError = r.Bool()
		case "resultType":
			out.ResultType = resultType(r)
		case "_meta":
			out.Meta = r.Raw()
		}
	}
	if bad == nil {
		bad = r.Err()
	}
	return out, invalid(bad)
}

func readContent(r *jsontext.Reader) ([]mcp.Content, error) {
	content := []mcp.Content{}
	var bad error
	for i := range r.Array() {
		content = append(content, mcp.Content{})
		if err := readBlock(r, &content[i]); err != nil && bad == nil {
			bad = fmt.Errorf("content %d: %w", i, err)
		}
	}
	return content, bad
}

// readBlock reads a block of text, image or audio in place. All others, and
// those with members of their own, are rare and go through the decoder of
// package mcp, which loses nothing.
func readBlock(r *jsontext.Reader, c *mcp.Content) error {
	trial := *r
	if readPlain(&trial, c) && trial.Err() == nil {
		*r = trial
		return nil
	}
	return c.UnmarshalJSON(r.Raw())
}

// readPlain reads a block and reports whether c holds all of it.
func readPlain(r *jsontext.Reader, c *mcp.Content) bool {
	whole := true
	for key := range r.Object() {
		switch string(key) {
		case "type":
			c.Type = plainType(r.Text())
		case "text":
			c.Text = r.String()
		case "data":
			c.Data = r.String()
		case "mimeType":
			c.MIMEType = r.String()
		case "annotations":
			c.Annotations = r.Raw()
		case "_meta":
			c.Meta = r.Raw()
		default:
			whole = false
		}
	}
	return whole && c.Type != ""
}

// plainType returns the type if its blocks are plain, and "" otherwise.
func plainType(text []byte) string {
	switch string(text) {
	case mcp.ContentText:
		return mcp.ContentText
	case mcp.ContentImage:
		return mcp.ContentImage
	case mcp.ContentAudio:
		return mcp.ContentAudio
	}
	return ""
}
