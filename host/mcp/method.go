package mcp

// Requests from client to server.
const (
	MethodInitialize   = "initialize"      // legacy (2025-11-25/basic/lifecycle)
	MethodDiscover     = "server/discover" // modern (2026-07-28/server/discover)
	MethodListTools    = "tools/list"
	MethodCallTool     = "tools/call"
	MethodGetPrompt    = "prompts/get"
	MethodReadResource = "resources/read"
)

// Requests from server to client, of the legacy era only: a modern server asks
// within its results instead (2026-07-28/basic/patterns/mrtr). Ping goes both
// ways.
const (
	MethodPing          = "ping"
	MethodListRoots     = "roots/list"
	MethodCreateMessage = "sampling/createMessage"
	MethodElicit        = "elicitation/create"
)

// Notifications.
const (
	NotificationInitialized      = "notifications/initialized" // legacy, client to server
	NotificationCancelled        = "notifications/cancelled"
	NotificationProgress         = "notifications/progress"
	NotificationMessage          = "notifications/message" // a log line of the server
	NotificationToolsListChanged = "notifications/tools/list_changed"
)
