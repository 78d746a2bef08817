package mcp

import "encoding/json"

// Resource is something that a server lists for reading (2026-07-28/server/resources). Title,
// description, media type and the like are the server's words.
type Resource struct {
	URI         string          `json:"uri"`
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	MIMEType    string          `json:"mimeType,omitempty"`
	Size        *int64          `json:"size,omitempty"` // bytes, before any encoding
	Annotations json.RawMessage `json:"annotations,omitempty"`
	Icons       json.RawMessage `json:"icons,omitempty"` // see ReadIcons
	Meta        json.RawMessage `json:"_meta,omitempty"`

	Raw json.RawMessage `json:"-"` // the whole object
}

// MarshalJSON writes Raw where it is set, and the fields otherwise.
func (r Resource) MarshalJSON() ([]byte, error) {
	type fields Resource
	return writeWhole(r.Raw, fields(r))
}

// UnmarshalJSON reads a resource and keeps the whole of it in Raw.
func (r *Resource) UnmarshalJSON(object []byte) (err error) {
	type fields Resource
	*r = Resource{}
	r.Raw, err = readWhole(object, "", (*fields)(r))
	return err
}

// ResourceTemplate is a family of resources: a URI template of RFC 6570, whose
// variables a server may help to complete, see [ResourceRef].
type ResourceTemplate struct {
	URITemplate string          `json:"uriTemplate"`
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	MIMEType    string          `json:"mimeType,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
	Icons       json.RawMessage `json:"icons,omitempty"` // see ReadIcons
	Meta        json.RawMessage `json:"_meta,omitempty"`

	Raw json.RawMessage `json:"-"` // the whole object
}

// MarshalJSON writes Raw where it is set, and the fields otherwise.
func (r ResourceTemplate) MarshalJSON() ([]byte, error) {
	type fields ResourceTemplate
	return writeWhole(r.Raw, fields(r))
}

// UnmarshalJSON reads a template and keeps the whole of it in Raw.
func (r *ResourceTemplate) UnmarshalJSON(object []byte) (err error) {
	type fields ResourceTemplate
	*r = ResourceTemplate{}
	r.Raw, err = readWhole(object, "", (*fields)(r))
	return err
}

// ReadResourceResult is the answer to [MethodReadResource]. One resource may have several
// contents: a folder has, for example.
type ReadResourceResult struct {
	Contents []ResourceContents `json:"contents"`
	Meta     json.RawMessage    `json:"_meta,omitempty"`

	Raw json.RawMessage `json:"-"` // the whole object
}

// MarshalJSON writes Raw where it is set, and the fields otherwise.
func (r ReadResourceResult) MarshalJSON() ([]byte, error) {
	type fields ReadResourceResult
	return writeWhole(r.Raw, fields(r))
}

// UnmarshalJSON reads a result and keeps the whole of it in Raw.
func (r *ReadResourceResult) UnmarshalJSON(object []byte) (err error) {
	type fields ReadResourceResult
	*r = ReadResourceResult{}
	r.Raw, err = readWhole(object, "contents", (*fields)(r))
	return err
}
