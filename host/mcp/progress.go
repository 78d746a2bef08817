package mcp

// Progress says how far a request is (2026-07-28/basic/patterns/progress). Done grows with each
// notification, and only the server knows its unit. Total is 0 if the server does not tell it.
// Message is the server's words.
type Progress struct {
	Done    float64 `json:"progress"`
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
}
