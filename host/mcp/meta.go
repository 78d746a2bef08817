package mcp

// Keys of _meta that the modern era defines (2026-07-28/basic/index#meta). Every request must
// have the first two, and should have the third.
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"

	MetaLogLevel       = "io.modelcontextprotocol/logLevel"       // on requests; a Level
	MetaServerInfo     = "io.modelcontextprotocol/serverInfo"     // on results; for display only
	MetaSubscriptionID = "io.modelcontextprotocol/subscriptionId" // on the messages of a listen stream
)

// MetaProgressToken is the key of _meta, in both eras, by which a request asks for notifications
// of its progress (2026-07-28/basic/patterns/progress).
const MetaProgressToken = "progressToken"

// ExtensionTasks is the extension by which a modern server may answer a call
// with a [Task].
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// ResultType says how a modern result is to be read. A result without one is
// complete; one with a type that the client did not ask for is invalid
// (2026-07-28/basic/index#result-type).
type ResultType string

// The result types of the core protocol, and that of [ExtensionTasks].
const (
	ResultComplete      ResultType = "complete"
	ResultInputRequired ResultType = "input_required"
	ResultTask          ResultType = "task"
)
