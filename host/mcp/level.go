package mcp

import "encoding/json"

// Level is the severity of a message that a server logs, by RFC 5424
// (2026-07-28/server/utilities/logging#log-levels).
type Level string

// The levels, from the least to the worst.
const (
	LevelDebug     Level = "debug"
	LevelInfo      Level = "info"
	LevelNotice    Level = "notice"
	LevelWarning   Level = "warning"
	LevelError     Level = "error"
	LevelCritical  Level = "critical"
	LevelAlert     Level = "alert"
	LevelEmergency Level = "emergency"
)

// Levels lists the levels in that order.
var Levels = []Level{
	LevelDebug, LevelInfo, LevelNotice, LevelWarning, LevelError, LevelCritical, LevelAlert, LevelEmergency,
}

// LogMessage is what a server logs: the params of [NotificationMessage].
type LogMessage struct {
	Level  Level           `json:"level"`
	Logger string          `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data"` // any JSON value
	Meta   json.RawMessage `json:"_meta,omitempty"`
}
