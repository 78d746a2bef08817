package plugintest

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/wharf-mcp/wharf/abi"
)

// envelope is what is looked at of a message.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Error  json.RawMessage `json:"error"`
	Params json.RawMessage `json:"params"`
}

func readEnvelope(text string) (envelope, error) {
	var e envelope
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return e, fmt.Errorf("expected a JSON-RPC message: %w", err)
	}
	return e, nil
}

// name is what the facts call name: that of a tool, or the address of a resource.
func (e *envelope) name() string {
	var params struct{ Name, URI string }
	_ = json.Unmarshal(e.Params, &params) // others have no name
	if params.Name == "" {
		return params.URI
	}
	return params.Name
}

func (e *envelope) kind() abi.MessageKind {
	switch {
	case e.Method == "":
		return abi.Reply
	case e.ID == nil:
		return abi.Notification
	}
	return abi.Request
}

// exchange is that of the request with the id: in scenarios they are the same.
func (e *envelope) exchange() (uint32, bool) {
	n, err := strconv.ParseUint(string(e.ID), 10, 32)
	return uint32(n), err == nil
}

// request is a message that stands for all requests.
func request(exchange uint32, size int) string {
	head := `{"jsonrpc":"2.0","id":` + strconv.Itoa(int(exchange)) + `,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`
	return padded(head, `"}}}`, size)
}

// reply is the answer to it.
func reply(exchange uint32, size int) string {
	head := `{"jsonrpc":"2.0","id":` + strconv.Itoa(int(exchange)) + `,"result":{"content":[{"type":"text","text":"`
	return padded(head, `"}]}}`, size)
}

// padded puts as much text between two parts as it takes to make size bytes.
func padded(head, tail string, size int) string {
	n := max(0, size-len(head)-len(tail))
	text := make([]byte, n)
	for i := range text {
		text[i] = "0123456789abcdef"[i%16]
	}
	return head + string(text) + tail
}
