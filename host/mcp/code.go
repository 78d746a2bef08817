package mcp

// Error codes of JSON-RPC 2.0, section 5.1.
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
)

// Error codes of the protocol itself. It reserves -32020 to -32099 for such
// codes; -32000 to -32019 belong to implementations, and a client must not
// read a meaning into them (2026-07-28/schema, "MCP error codes").
const (
	CodeResourceNotFound        = -32002 // legacy; a modern server says CodeInvalidParams
	CodeHeaderMismatch          = -32020 // modern, HTTP
	CodeMissingClientCapability = -32021 // modern
	CodeUnsupportedVersion      = -32022 // modern; data has supported, a list of revisions (2026-07-28/basic/versioning)
	CodeURLElicitationRequired  = -32042 // 2025-11-25 only
)
