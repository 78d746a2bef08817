package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// errNoHandler says that there is no callback for a server's request.
var errNoHandler = errors.New("no handler")

// respond lets a callback answer a server. In the legacy era the server asks in a request of its
// own, in the modern era within a result. respond refuses what the client did not advertise.
func (c *Config) respond(ctx context.Context, method string, params []byte) (rpc.Appender, error) {
	switch {
	case method == mcp.MethodListRoots && c.Roots != nil:
		roots, err := c.Roots(ctx)
		if err != nil {
			return nil, err
		}
		if roots == nil {
			roots = []mcp.Root{}
		}
		return encoded(mcp.ListRootsResult{Roots: roots})
	case method == mcp.MethodCreateMessage && c.Sample != nil:
		result, err := c.Sample(ctx, params)
		return raw(result), err
	case method == mcp.MethodElicit && c.Elicit != nil:
		e, err := readElicitation(params)
		if err != nil {
			return nil, &rpc.Error{Code: mcp.CodeInvalidParams, Message: err.Error()}
		}
		if !c.elicits(e.Mode) { // (2025-11-25/client/elicitation#error-handling)
			return nil, &rpc.Error{Code: mcp.CodeInvalidParams, Message: "this client does not offer elicitation of mode " + e.Mode}
		}
		result, err := c.Elicit(ctx, e)
		if err != nil {
			return nil, err
		}
		return encoded(result)
	case c.Handlers[method] != nil:
		result, err := c.Handlers[method](ctx, bytes.Clone(params)) // the handler may keep them
		return raw(result), err
	case c.Other != nil:
		result, err := c.Other(ctx, method, bytes.Clone(params))
		return raw(result), err
	}
	return nil, errNoHandler
}

// raw writes the JSON that a callback returned.
func raw(result json.RawMessage) rpc.Appender {
	return func(dst []byte) ([]byte, error) { return strictjson.AppendLine(dst, result) }
}

// readElicitation reads the params of elicitation/create. An elicitation without a mode is a form
// (2025-11-25/client/elicitation).
func readElicitation(params []byte) (e mcp.Elicitation, err error) {
	r := strictjson.Read(params)
	for key := range r.Object() {
		switch string(key) {
		case "mode":
			e.Mode = r.String()
		case "message":
			e.Message = r.String()
		case "requestedSchema":
			e.RequestedSchema = r.Raw()
		case "url":
			e.URL = r.String()
		case "elicitationId":
			e.ElicitationID = r.String()
		case "_meta":
			e.Meta = r.Raw()
		}
	}
	switch e.Mode {
	case "":
		e.Mode = mcp.ElicitForm
	case mcp.ElicitForm, mcp.ElicitURL:
	default:
		return e, errors.New("unknown mode of elicitation")
	}
	return e, r.Err()
}

func encoded(result any) (rpc.Appender, error) {
	text, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	return written(text), nil
}

func written(text []byte) rpc.Appender {
	return func(dst []byte) ([]byte, error) { return append(dst, text...), nil }
}
