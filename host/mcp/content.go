package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// The types of content that the specification defines
// (2026-07-28/server/tools#tool-result).
const (
	ContentText         = "text"          // Text
	ContentImage        = "image"         // Data, MIMEType
	ContentAudio        = "audio"         // Data, MIMEType
	ContentResourceLink = "resource_link" // URI, Name, Title, Description, MIMEType, Size
	ContentResource     = "resource"      // Resource
)

// Content is one block of a result. Type says which of the other fields are used; see the
// constants above.
//
// No part of a block is lost. If this package does not know its type, or if it has members
// beyond the fields, Raw holds the whole block as the server wrote it, and marshalling writes
// Raw. A caller that changes the fields of such a block clears Raw.
type Content struct {
	Type string
	Text string

	Data     string // base64, as the server sent it
	MIMEType string

	URI         string
	Name        string
	Title       string
	Description string
	Size        *int64 // bytes, before any encoding

	Resource *ResourceContents

	Annotations json.RawMessage
	Meta        json.RawMessage

	Raw json.RawMessage
}

// ResourceContents is the content of a resource, or of a part of it: text, or bytes in base64.
type ResourceContents struct {
	URI      string          `json:"uri"`
	MIMEType string          `json:"mimeType,omitempty"`
	Text     string          `json:"text"`
	Blob     string          `json:"blob"`
	Meta     json.RawMessage `json:"_meta,omitempty"`
}

// wireContent gives the members of a block their order and spelling. The pointers are members
// that some types must have even when they are empty.
type wireContent struct {
	Type        string            `json:"type"`
	Text        *string           `json:"text,omitempty"`
	Data        *string           `json:"data,omitempty"`
	MIMEType    string            `json:"mimeType,omitempty"`
	URI         string            `json:"uri,omitempty"`
	Name        string            `json:"name,omitempty"`
	Title       string            `json:"title,omitempty"`
	Description string            `json:"description,omitempty"`
	Size        *int64            `json:"size,omitempty"`
	Resource    *ResourceContents `json:"resource,omitempty"`
	Annotations json.RawMessage   `json:"annotations,omitempty"`
	Meta        json.RawMessage   `json:"_meta,omitempty"`
}

// MarshalJSON writes Raw where it is set, and the fields otherwise.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.Raw != nil {
		return c.Raw, nil
	}
	w := wireContent{
		Type: c.Type, MIMEType: c.MIMEType,
		URI: c.URI, Name: c.Name, Title: c.Title, Description: c.Description, Size: c.Size,
		Resource: c.Resource, Annotations: c.Annotations, Meta: c.Meta,
	}
	if c.Type == ContentText || c.Text != "" {
		w.Text = &c.Text
	}
	if c.Type == ContentImage || c.Type == ContentAudio || c.Data != "" {
		w.Data = &c.Data
	}
	return marshal(w)
}

// UnmarshalJSON reads a block. If a member of a known type is not as the specification says,
// that is an error; an unknown type never is. Member names are case-sensitive.
func (c *Content) UnmarshalJSON(block []byte) error {
	r := strictjson.Read(block)
	if r.Kind() != '{' || !json.Valid(block) {
		return fmt.Errorf("content block: expected an object, got %s", KindOf(block))
	}
	var m [len(memberNames)][]byte // the values, the last of each name; nil is none
	strange := false
	for name := range r.Object() {
		if at := slices.Index(memberNames[:], string(name)); at >= 0 {
			m[at] = r.Raw()
		} else {
			strange = true
		}
	}
	*c = Content{}
	fields := [len(memberNames)]any{
		&c.Type, &c.Text, &c.Data, &c.MIMEType, &c.URI, &c.Name, &c.Title, &c.Description, &c.Size,
		&c.Resource, &c.Annotations, &c.Meta,
	}
	for at, member := range m {
		if at == 1 && !known(c.Type) {
			break
		}
		if member == nil {
			continue
		}
		if err := json.Unmarshal(member, fields[at]); err != nil {
			return fmt.Errorf("content block: member %q: unexpected %s", memberNames[at], KindOf(member))
		}
	}
	if strange || !known(c.Type) || !c.Resource.fits(m[slices.Index(memberNames[:], "resource")]) {
		c.Raw = bytes.Clone(block)
	}
	return nil
}

// memberNames are the members that a block is read from, "type" first.
var memberNames = [...]string{
	"type", "text", "data", "mimeType", "uri", "name", "title", "description", "size", "resource", "annotations", "_meta",
}

func known(contentType string) bool {
	return slices.Contains([]string{ContentText, ContentImage, ContentAudio, ContentResourceLink, ContentResource}, contentType)
}

// fits reports whether r has a field for every member of its JSON form.
func (r *ResourceContents) fits(member []byte) bool {
	if r == nil {
		return true
	}
	d := json.NewDecoder(bytes.NewReader(member))
	d.DisallowUnknownFields()
	return d.Decode(new(ResourceContents)) == nil
}

// MarshalJSON writes the blob if there is one, and the text otherwise. A resource has exactly
// one of them, and either may be empty.
func (r ResourceContents) MarshalJSON() ([]byte, error) {
	w := struct {
		URI      string          `json:"uri"`
		MIMEType string          `json:"mimeType,omitempty"`
		Meta     json.RawMessage `json:"_meta,omitempty"`
		Text     *string         `json:"text,omitempty"`
		Blob     *string         `json:"blob,omitempty"`
	}{URI: r.URI, MIMEType: r.MIMEType, Meta: r.Meta}
	if r.Blob != "" {
		w.Blob = &r.Blob
	} else {
		w.Text = &r.Text
	}
	return marshal(w)
}

// marshal is json.Marshal without escapes for <, > and &, which would make text unreadable for
// people. A caller that wants these escapes sets them on its own encoder, which then adds them.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// KindOf names the kind of a JSON value by its first byte, in the words of JSON Schema. It
// returns "number" for a value of no other kind, and "nothing" for a text without a value.
func KindOf(value []byte) string {
	value = bytes.TrimLeft(value, " \t\r\n")
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
