package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/wharf-mcp/wharf/host/internal/jsontext"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// inbox is the [rpc.Handler] of one connection: it takes what the server begins.
type inbox struct{ cfg *Config }

var methodNotFound = &rpc.Error{Code: mcp.CodeMethodNotFound, Message: "method not found"}

// Request answers a server's request. What was not advertised is refused. A
// modern server must not ask at all, and the peer keeps its requests to itself
// once the handshake has found that out.
func (b *inbox) Request(ctx context.Context, in *rpc.Incoming) (rpc.Appender, error) {
	switch {
	case in.Method == mcp.MethodPing:
		return written([]byte("{}")), nil
	case in.Method == mcp.MethodListRoots && b.cfg.Roots != nil:
		return b.roots(ctx)
	case in.Method == mcp.MethodCreateMessage && b.cfg.Sample != nil:
		return b.sample(ctx, in.Params)
	case in.Method == mcp.MethodElicit && b.cfg.Elicit != nil:
		return b.elicit(ctx, in.Params)
	}
	return nil, methodNotFound
}

func (b *inbox) roots(ctx context.Context) (rpc.Appender, error) {
	roots, err := b.cfg.Roots(ctx)
	if err != nil {
		return nil, told(err)
	}
	if roots == nil {
		roots = []mcp.Root{}
	}
	return encoded(mcp.ListRootsResult{Roots: roots})
}

func (b *inbox) sample(ctx context.Context, params []byte) (rpc.Appender, error) {
	result, err := b.cfg.Sample(ctx, params)
	if err != nil {
		return nil, told(err)
	}
	return func(dst []byte) ([]byte, error) { return jsontext.AppendRaw(dst, result) }, nil
}

func (b *inbox) elicit(ctx context.Context, params []byte) (rpc.Appender, error) {
	e, err := readElicitation(params)
	if err != nil {
		return nil, &rpc.Error{Code: mcp.CodeInvalidParams, Message: err.Error()}
	}
	result, err := b.cfg.Elicit(ctx, e)
	if err != nil {
		return nil, told(err)
	}
	return encoded(result)
}

// readElicitation reads the params of elicitation/create. Without a mode it is
// a form (2025-11-25/client/elicitation).
func readElicitation(params []byte) (e mcp.Elicitation, err error) {
	r := jsontext.Read(params)
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

// told makes what a callback failed with an error for the server. The words of
// an error may be about this machine, so the server learns them only where the
// callback chose to tell, with an error of the protocol.
func told(err error) error {
	if fault := (*rpc.Error)(nil); errors.As(err, &fault) {
		return fault
	}
	return &rpc.Error{Code: mcp.CodeInternalError, Message: "the client could not answer"}
}

func encoded(result any) (rpc.Appender, error) {
	text, err := json.Marshal(result)
	if err != nil {
		return nil, told(err)
	}
	return written(text), nil
}

func written(text []byte) rpc.Appender {
	return func(dst []byte) ([]byte, error) { return append(dst, text...), nil }
}

// aliases are names under which some servers send what has another name. Older
// descriptions of the protocol spelled it so.
var aliases = map[string]string{"notifications/logging/message": mcp.NotificationMessage}

// Notify passes a notification on. The callback may keep its params.
func (b *inbox) Notify(in *rpc.Incoming) {
	method := in.Method
	if name, ok := aliases[method]; ok {
		method = name
	}
	b.cfg.Notify(method, bytes.Clone(in.Params))
}
