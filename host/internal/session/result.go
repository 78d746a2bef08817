package session

import (
	"bytes"
	"fmt"
	"unsafe"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// callReader reads a CallToolResult in place and each byte once, because this result is often
// large. The reader must own the text for good: raw members alias it, and so does a string that is
// most of it.
type callReader struct {
	*strictjson.Reader
	most int // bytes: half of the text
}

func readCall(text []byte) (*mcp.CallToolResult, error) {
	r := callReader{strictjson.Read(text), len(text) / 2}
	out := &mcp.CallToolResult{Content: []mcp.Content{}, Raw: bytes.Trim(text, " \t\r\n")}
	var bad error
	for key := range r.Members() {
		switch string(key) {
		case "content":
			out.Content, bad = r.content()
		case "structuredContent":
			out.StructuredContent = r.Raw()
		case "isError":
			out.IsError = r.Bool()
		case "resultType":
			out.ResultType = resultType(r.Reader)
		case "_meta":
			out.Meta = r.Raw()
		}
	}
	if bad == nil {
		bad = r.Err()
	}
	return out, invalid(bad)
}

func (r callReader) content() ([]mcp.Content, error) {
	content := []mcp.Content{}
	var bad error
	for i := range r.Array() {
		content = append(content, mcp.Content{})
		if err := r.block(&content[i]); err != nil && bad == nil {
			bad = fmt.Errorf("content %d: %w", i, err)
		}
	}
	return content, bad
}

// block reads a block of text, image or audio in place. Other blocks, and those with members of
// their own, are rare: the decoder of package mcp reads them and loses nothing.
func (r callReader) block(c *mcp.Content) error {
	trial := *r.Reader
	if (callReader{&trial, r.most}).plain(c) && trial.Err() == nil {
		*r.Reader = trial
		return nil
	}
	return c.UnmarshalJSON(r.Raw())
}

// plain reads a block and reports whether c holds all of it.
func (r callReader) plain(c *mcp.Content) bool {
	whole := true
	for key := range r.Object() {
		switch string(key) {
		case "type":
			c.Type = plainType(r.Text())
		case "text":
			c.Text = r.large()
		case "data":
			c.Data = r.large()
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

// large reads a string. It does not copy one that is most of the result: the copy would cost more
// than all the rest, and a caller that keeps the string keeps little else.
func (r callReader) large() string {
	text := r.Text()
	if len(text) < r.most {
		return string(text)
	}
	return unsafe.String(unsafe.SliceData(text), len(text))
}

// plainType returns the type if its blocks are plain, otherwise "".
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
