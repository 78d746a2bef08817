package mcp

import "encoding/json"

// Implementation names a program: a client to its servers, or a server to its clients. The
// program itself chose the name, so use it for display only.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`

	Description string          `json:"description,omitempty"`
	WebsiteURL  string          `json:"websiteUrl,omitempty"`
	Icons       json.RawMessage `json:"icons,omitempty"` // see ReadIcons
}

// InitializeResult is the answer to [MethodInitialize]
// (2025-11-25/basic/lifecycle).
type InitializeResult struct {
	ProtocolVersion string          `json:"protocolVersion"`
	Capabilities    json.RawMessage `json:"capabilities,omitempty"`
	ServerInfo      Implementation  `json:"serverInfo"`
	Instructions    string          `json:"instructions,omitempty"`
}

// DiscoverResult is the answer to [MethodDiscover]
// (2026-07-28/server/discover). The server names itself in the metadata.
type DiscoverResult struct {
	SupportedVersions []string        `json:"supportedVersions"`
	Capabilities      json.RawMessage `json:"capabilities,omitempty"`
	Instructions      string          `json:"instructions,omitempty"`
	Meta              ResultMeta      `json:"_meta"`
}

// UnmarshalJSON reads a result.
func (d *DiscoverResult) UnmarshalJSON(object []byte) error {
	type fields DiscoverResult
	*d = DiscoverResult{}
	return readBounded(object, (*fields)(d), "supportedVersions")
}

// ResultMeta is the metadata of a modern result, as far as a client reads it.
type ResultMeta struct {
	ServerInfo Implementation `json:"io.modelcontextprotocol/serverInfo"`
}
