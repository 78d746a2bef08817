package demo

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"sync"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// object is the result of a request, or what is part of one.
type object = map[string]any

// message is a message that the server sends.
type message struct {
	JSONRPC string `json:"jsonrpc"`
	ID      any    `json:"id,omitempty"`
	Method  string `json:"method,omitempty"`
	Params  object `json:"params,omitempty"`
	Result  any    `json:"result,omitempty"`
	Error   error  `json:"error,omitempty"`
}

// textContent and textResource have their members in the order in which people read them.
type (
	textContent struct {
		Type string `json:"type"` // "text"
		Text string `json:"text"`
	}
	textResource struct {
		URI      string `json:"uri"`
		MIMEType string `json:"mimeType"`
		Text     string `json:"text"`
	}
)

// modern are the revisions that have no handshake, and legacy those that have one, each
// with the newest first.
var (
	modern = []string{mcp.Version20260728}
	legacy = []string{mcp.Version20251125, mcp.Version20250618, mcp.Version20250326, mcp.Version20241105}
)

// server is one connection. Only the goroutine that reads requests starts others.
type server struct {
	info object

	mu        sync.Mutex // guards what follows; out has a whole message at a time
	out       io.Writer
	greeted   bool                          // there was an initialize
	running   map[string]context.CancelFunc // calls that take time, by their ids
	listening map[string]listener           // by the id of the request, or "" for a legacy client
	ticking   bool
}

// request is a request or a notification, which has no id.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	params params
}

// params has the members of the params of all methods.
type params struct {
	Meta struct {
		Version       string          `json:"io.modelcontextprotocol/protocolVersion"`
		ProgressToken json.RawMessage `json:"progressToken"`
	} `json:"_meta"`
	ProtocolVersion string          `json:"protocolVersion"`
	Cursor          string          `json:"cursor"`
	Name            string          `json:"name"`
	URI             string          `json:"uri"`
	Arguments       json.RawMessage `json:"arguments"`
	Argument        struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"argument"`
	Notifications json.RawMessage `json:"notifications"`
	RequestID     json.RawMessage `json:"requestId"`
}

// isModern reports whether a request says in what revision it is.
func (r *request) isModern() bool { return r.params.Meta.Version != "" }

// refusal is the error that a request is answered with.
type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    object `json:"data,omitempty"`
}

func (r *refusal) Error() string { return r.Message }

// errLater says that another goroutine will send the answer to the request.
var errLater = errors.New("answered later")

// answer sends the answer to a request. It returns an error if writing fails.
func (s *server) answer(r *request, result object, err error) error {
	if err == errLater {
		return nil
	}
	if err != nil {
		return s.send(message{ID: r.ID, Error: err})
	}
	if r.isModern() {
		result["resultType"] = "complete"
		meta, _ := result["_meta"].(object)
		if meta == nil {
			meta = object{}
		}
		meta[mcp.MetaServerInfo] = s.info
		result["_meta"] = meta
	}
	return s.send(message{ID: r.ID, Result: result})
}

func (s *server) notify(method string, params object) error {
	return s.send(message{Method: method, Params: params})
}

func (s *server) send(m message) error {
	m.JSONRPC = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.out.Write(append(line, '\n'))
	return err
}

// listener is a client that is told of changed resources. A modern client has the id of the
// request by which it listens (2026-07-28/basic/utilities/subscriptions).
type listener struct {
	id   json.RawMessage
	uris []string
}

// cacheable marks a result as one that can be asked for again at any time.
func cacheable(result object) object {
	whole := object{"ttlMs": 0, "cacheScope": "public"}
	maps.Copy(whole, result)
	return whole
}
