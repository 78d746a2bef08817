package mcp

// Progress is how far a request is (2026-07-28/basic/patterns/progress). Done grows with each
// notification, and has a unit that only the server knows; Total is 0 where the server does
// not tell. Message is the server's words.
type Progress struct {
	Done    float64 `json:"progress"`
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
}
