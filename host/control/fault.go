package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
)

// Kind is the kind of an error. Kinds are added, and never renamed or removed.
type Kind string

// The kinds of errors. The first ones are about what the editor wrote, the others those of
// [host.ErrorKind].
const (
	KindNotInitialized     Kind = "not_initialized"     // a request before initialize
	KindAlreadyInitialized Kind = "already_initialized" // a second initialize
	KindVersion            Kind = "version"             // no version of the protocol is known to both
	KindParams             Kind = "params"              // params that do not fit the schema
	KindUnknownMethod      Kind = "unknown_method"
	KindUnknownServer      Kind = "unknown_server"
	KindFutureEvent        Kind = "future_event" // an event that has not happened yet
	KindCancelled          Kind = "cancelled"    // by $/cancelRequest, or the end of the editor
	KindUnknownHandle      Kind = "unknown_handle"
	KindUnknownPlugin      Kind = "unknown_plugin"
	KindTaken              Kind = "taken"   // there is a server of that name
	KindChanged            Kind = "changed" // the configuration is another than the editor was shown

	KindConfiguration    Kind = "configuration"     // the entry of the server is wrong
	KindUnknownTransport Kind = "unknown_transport" // no plugin has the name that the entry gives
	KindDenied           Kind = "denied"            // a grant or an approval is missing
	KindSignIn           Kind = "sign_in_needed"
	KindPluginRefused    Kind = "plugin_refused"
	KindDisabled         Kind = "disabled"       // the server was stopped, or its entry disables it
	KindServer           Kind = "server_error"   // the server answered with an error
	KindUnsupported      Kind = "unsupported"    // the server does not offer that
	KindInputRequired    Kind = "input_required" // the server asks for input, and did not get it
	KindProtocol         Kind = "protocol"       // the server broke its protocol
	KindTimeout          Kind = "timeout"
	KindUnreachable      Kind = "unreachable" // there is no connection, or it was lost
	KindInternal         Kind = "internal"
)

// Codes of errors. Those of JSON-RPC 2.0 are for what the editor wrote; what a server or the host could
// not do has CodeFailed. The other two are those of the language server protocol.
const (
	CodeFailed         = -32000
	CodeNotInitialized = -32002
	CodeInvalidRequest = -32600
	CodeUnknownMethod  = -32601
	CodeInvalidParams  = -32602
	CodeCancelled      = -32800
)

// problem describes an error of a host to the editor.
func problem(h *host.Host, err error) *Problem {
	if err == nil {
		return nil
	}
	return &Problem{Kind(host.ErrorKind(err)), h.Redact(err.Error()), h.Redact(host.Hint(err))}
}

// faultOf returns the error that a request of an editor gets for err. ctx is the context of the request.
func faultOf(ctx context.Context, h *host.Host, err error) *rpc.Error {
	var own *fault
	var no *host.RPCError
	p := problem(h, err)
	data := ErrorData{Kind: p.Kind, Hint: p.Hint, MaybeSent: host.MaybeSent(err)}
	if p.Kind == KindSignIn {
		data.Hint = "call auth/login"
		if p.Hint != "" {
			data.Hint += ", or " + p.Hint
		}
	}
	if hint := whoAnswers(err); hint != "" {
		data.Hint = hint
	}
	code := CodeFailed
	switch {
	case errors.As(err, &own):
		code, data = own.code, own.data
	case ctx.Err() != nil:
		code, data.Kind = CodeCancelled, KindCancelled
	case errors.As(err, &no):
		data.Server = no.Raw
	}
	return newFault(code, p.Message, data)
}

// whoAnswers returns a hint at what an editor has to declare so that it is asked what a server asks for, or "".
func whoAnswers(err error) string {
	var can []string
	for _, name := range host.Unoffered(err) {
		if own := map[string]string{"elicitation": "elicit", "sampling": "sample", "roots": "roots"}[name]; own != "" {
			can = append(can, own)
		}
	}
	if can == nil {
		return ""
	}
	return "it goes to an editor with " + strings.Join(can, ", ") + " in its capabilities"
}

// fault is an error about what an editor wrote.
type fault struct {
	code int
	text string
	data ErrorData
}

func (f *fault) Error() string { return f.text }

// invalid returns an error about params, with a hint.
func invalid(kind Kind, hint, format string, a ...any) error {
	return &fault{CodeInvalidParams, fmt.Sprintf(format, a...), ErrorData{Kind: kind, Hint: hint}}
}

func newFault(code int, message string, data ErrorData) *rpc.Error {
	text, err := encode(data)
	if err != nil { // a server's own error was no JSON that this package can write
		text, _ = encode(ErrorData{Kind: data.Kind, Hint: data.Hint, MaybeSent: data.MaybeSent})
	}
	return &rpc.Error{Code: code, Message: message, Data: json.RawMessage(text)}
}
