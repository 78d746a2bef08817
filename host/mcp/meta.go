package mcp

// Keys of _meta that the modern era defines (2026-07-28/basic/index#meta). The
// first two are required on every request, the third is expected there.
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"

	MetaServerInfo = "io.modelcontextprotocol/serverInfo" // on results; for display only
)

// ResultType says how a modern result is to be read. A result without one is
// complete; one with a type that the client did not ask for is invalid
// (2026-07-28/basic/index#result-type).
type ResultType string

// The result types of the core protocol.
const (
	ResultComplete      ResultType = "complete"
	ResultInputRequired ResultType = "input_required"
)
