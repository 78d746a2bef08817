//go:build !wasip1

package sdktest

import (
	"bytes"
	"encoding/json"

	"github.com/wharf-mcp/wharf/abi"
)

// Classify returns the verdict that a host gives to a message for which a caller
// waits: it looks at the envelope alone, and less strictly than a host does.
func Classify(message []byte) abi.Verdict {
	if len(bytes.TrimSpace(message)) == 0 {
		return abi.VerdictBlank
	}
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(message, &m) != nil || m.Version != "2.0" {
		return abi.VerdictMalformed
	}
	switch {
	case m.Method != "" && m.ID != nil:
		return abi.VerdictRequest
	case m.Method != "":
		return abi.VerdictNote
	case (m.Result != nil) != (m.Error != nil):
		return abi.VerdictAnswer
	}
	return abi.VerdictMalformed
}
