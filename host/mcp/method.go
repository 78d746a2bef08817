package mcp

// Requests from client to server.
const (
	MethodInitialize    = "initialize"      // legacy (2025-11-25/basic/lifecycle)
	MethodDiscover      = "server/discover" // modern (2026-07-28/server/discover)
	MethodListTools     = "tools/list"
	MethodCallTool      = "tools/call"
	MethodListPrompts   = "prompts/list"
	MethodGetPrompt     = "prompts/get"
	MethodListResources = "resources/list"
	MethodListTemplates = "resources/templates/list"
	MethodReadResource  = "resources/read"
	MethodComplete      = "completion/complete"
	MethodSetLevel      = "logging/setLevel"      // legacy; the modern era has MetaLogLevel
	MethodSubscribe     = "resources/subscribe"   // legacy, as is the next
	MethodUnsubscribe   = "resources/unsubscribe" //
	MethodListen        = "subscriptions/listen"  // modern
	MethodGetTask       = "tasks/get"
	MethodCancelTask    = "tasks/cancel"
	MethodListTasks     = "tasks/list"   // 2025-11-25 only
	MethodTaskResult    = "tasks/result" // 2025-11-25 only
	MethodUpdateTask    = "tasks/update" // modern, of ExtensionTasks
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
	NotificationInitialized          = "notifications/initialized"        // legacy, client to server
	NotificationRootsListChanged     = "notifications/roots/list_changed" // legacy, client to server
	NotificationCancelled            = "notifications/cancelled"
	NotificationProgress             = "notifications/progress"
	NotificationMessage              = "notifications/message" // a log line of the server
	NotificationToolsListChanged     = "notifications/tools/list_changed"
	NotificationPromptsListChanged   = "notifications/prompts/list_changed"
	NotificationResourcesListChanged = "notifications/resources/list_changed"
	NotificationResourceUpdated      = "notifications/resources/updated"
	NotificationElicitationComplete  = "notifications/elicitation/complete"       // 2025-11-25
	NotificationTaskStatus           = "notifications/tasks/status"               // 2025-11-25
	NotificationTasks                = "notifications/tasks"                      // modern, of ExtensionTasks
	NotificationAcknowledged         = "notifications/subscriptions/acknowledged" // modern
)
