package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// The error of a server that refuses the handshake is its own, though no request of a caller was sent.
func TestKindOfARefusedHandshake(t *testing.T) {
	refused := &unconnectedError{fmt.Errorf("connect x: %w", &RPCError{Code: -32000, Message: "no"})}
	if kind := ErrorKind(refused); kind != "server_error" || !errors.Is(refused, ErrNotSent) {
		t.Errorf("it is %s", kind)
	}
	if kind := ErrorKind(&rpc.CallError{Method: "ping", Sent: rpc.NotSent, Err: errors.New("x")}); kind != "unreachable" {
		t.Errorf("what was not sent is %s", kind)
	}
}

// Every error of the packages below is sorted once, and stays what it was.
func TestExplain(t *testing.T) {
	denial := &capability.Denial{Kind: abi.OpenStream, Name: "main"}
	trap := &wasm.Trap{Kind: wasm.TrapFuel}
	for _, c := range []struct {
		err  error
		kind error // nil: it has none
		hint string
	}{
		{denial, ErrDenied, "[servers.\"my server\"]"},
		{&guest.PluginError{Plugin: "p", Op: "open", Err: denial}, ErrDenied, "[servers."},
		{&httpclient.Refusal{HTTP: 401}, ErrAuthRequired, "nothing signs in"},
		{&httpclient.Refusal{HTTP: 401, Signed: true}, ErrLogin, "does not take the credentials"},
		{&httpclient.Refusal{HTTP: 401, Signed: true, Challenges: []string{"Basic"}}, ErrLogin, "does not take the credentials"},
		{&httpclient.Refusal{HTTP: 401, Keys: []string{"X-Key"}, Err: &auth.Error{Class: step.FailLogin}}, ErrAuthRequired, "the server refuses what the headers of my server give for X-Key; "},
		{&httpclient.Refusal{HTTP: 401, Keys: []string{"X-Key"}, Reread: true}, ErrAuthRequired, "give for X-Key, which was read just now: put a valid one where its entry leads; "},
		{&httpclient.Refusal{HTTP: 403, Keys: []string{"X-Key"}}, ErrDenied, "the server refuses what the headers of my server give for X-Key; "},
		{&httpclient.Refusal{HTTP: 401, Configured: true, Challenges: []string{"Basic"}}, ErrAuthRequired, "does not take the Authorization"},
		{&httpclient.Refusal{HTTP: 403, Body: "<html>"}, ErrDenied, "no way to sign in"},
		{&httpclient.Refusal{HTTP: 403, Challenges: []string{"Bearer"}}, ErrAuthRequired, "nothing signs in"},
		{&httpclient.Refusal{HTTP: 403, Err: errors.New("x")}, ErrAuthRequired, "nothing signs in"},
		{&httpclient.Refusal{HTTP: 401, Challenges: []string{`basic realm="x"`}}, ErrAuthRequired, "write auth, or headers"},
		{&httpclient.Refusal{HTTP: 401, Challenges: []string{"Basic"}, Err: &auth.Error{Class: step.FailLogin}}, ErrAuthRequired, "Basic"},
		{&httpclient.Refusal{HTTP: 401, Challenges: []string{"Basic", "Bearer"}, Err: &auth.Error{Class: step.FailLogin}}, ErrLogin, "wharf login"},
		{&httpclient.Refusal{HTTP: 401, Challenges: []string{"Basic"}, Err: &auth.Error{Class: step.FailRetry, Hint: "later"}}, ErrUnreachable, "later"},
		{&guest.PluginError{Plugin: "p", Op: "DATA", Err: trap}, ErrUnreachable, "stopped"},
		{&guest.PluginError{Plugin: "p", Op: "connect", Err: errors.New("x")}, ErrUnreachable, "WHARF_TRACE=abi"},
		{&guest.EndedError{Cause: errors.New("x")}, ErrUnreachable, ""},
		{&guest.EndedError{Cause: &guest.StatusError{Status: abi.Unauthorized, Text: "x", Err: errors.New("y")}}, ErrAuthRequired, ""},
		{&guest.PluginError{Plugin: "p", Op: "connect", Err: &guest.StatusError{Status: abi.Unauthorized}}, ErrAuthRequired, ""},
		{&guest.PluginError{Plugin: "p", Op: "connect", Err: &guest.StatusError{Status: abi.Malformed, Text: "db is no number"}}, ErrConfig, "my server"},
		{&guest.PluginError{Plugin: "p", Op: "connect", Err: &guest.StatusError{Status: abi.ProtocolFailed, Text: "x"}}, ErrUnreachable, ""},
		{rpc.ErrTimeout, ErrTimeout, `timeout = "2m"`},
		{session.ErrLongest, ErrTimeout, `max_timeout = "3h"`},
		{&rpc.CallError{Sent: rpc.Answered, Err: rpc.ErrTooBig}, ErrProtocol, "16 MiB"},
		{context.DeadlineExceeded, ErrTimeout, `timeout = "2m"`},
		{context.Canceled, nil, ""},
		{session.ErrClosed, ErrClosed, ""},
		{guest.ErrClosed, ErrClosed, ""},
		{wasm.ErrClosed, ErrClosed, ""},
		{session.ErrInvalidResult, ErrProtocol, ""},
		{&rpc.CallError{Sent: rpc.Answered, Err: errors.New("x")}, ErrProtocol, ""},
		{&rpc.CallError{Sent: rpc.MaybeSent, Err: &guest.StatusError{Status: abi.ProtocolFailed, HTTP: 200}}, ErrProtocol, ""},
		{&rpc.CallError{Sent: rpc.MaybeSent, Err: &guest.StatusError{Status: abi.ProtocolFailed, HTTP: 500}}, ErrUnreachable, ""},
		{&rpc.CallError{Err: errors.New("x")}, ErrUnreachable, ""},
		{&session.UnansweredError{Method: "elicitation/create"}, ErrInputRequired, "a client that offers elicitation"},
		{&session.UnansweredError{Method: "tools/call"}, ErrInputRequired, ""},
		{fmt.Errorf("%w: %w", session.ErrInputRequired, rpc.ErrTimeout), ErrInputRequired, ""},
		{&rpc.Error{Code: -1, Message: "no"}, nil, ""},
		{errors.New("whatever"), nil, ""},
	} {
		err := explain("my server", fmt.Errorf("call: %w", c.err))
		if err = explain("another", fmt.Errorf("again: %w", err)); !errors.Is(err, c.err) {
			t.Errorf("%v is lost", c.err)
		}
		for _, kind := range []error{ErrDenied, ErrAuthRequired, ErrLogin, ErrUnreachable, ErrTimeout, ErrClosed, ErrProtocol, ErrConfig, ErrInputRequired} {
			if got, want := errors.Is(err, kind), errors.Is(c.kind, kind); got != want {
				t.Errorf("%v is %v: %t", c.err, kind, got)
			}
		}
		if hint := Hint(err); !strings.Contains(hint, c.hint) || (hint == "") != (c.hint == "") {
			t.Errorf("%v: hint %q", c.err, hint)
		}
	}
	if explain("s", nil) != nil || Hint(nil) != "" {
		t.Error("no error was explained")
	}
}

// TestErrorCodes: what a server answers has no kind. Callers tell it apart by its code.
func TestErrorCodes(t *testing.T) {
	for _, code := range []int{mcp.CodeParseError, mcp.CodeInvalidRequest, mcp.CodeMethodNotFound, mcp.CodeInvalidParams, mcp.CodeInternalError} {
		err := explain("s", fmt.Errorf("call: %w", &rpc.Error{Code: code, Message: "no"}))
		var no *RPCError
		if !errors.As(err, &no) || no.Code != code || errors.As(err, new(*hosterr.Error)) {
			t.Errorf("%d is %#v", code, err)
		}
	}
}

// A program may make a call again after "no" alone.
func TestSent(t *testing.T) {
	refused := &rpc.StatusError{HTTP: 429, Refused: true, Err: errors.New("HTTP 429")}
	for want, errs := range map[string][]error{
		"no": {&rpc.CallError{Err: refused}, &unconnectedError{&rpc.CallError{Sent: rpc.Answered, Err: rpc.ErrWrongID}}, fmt.Errorf("x: %w", ErrNotSent)},
		"maybe": {
			&rpc.CallError{Sent: rpc.MaybeSent, Err: rpc.ErrTimeout},
			&rpc.CallError{Sent: rpc.MaybeSent, Err: &rpc.StatusError{HTTP: 500, Err: errors.New("HTTP 500")}},
		},
		"yes": {&rpc.CallError{Sent: rpc.MaybeSent, Err: refused}, &rpc.CallError{Sent: rpc.Answered, Err: rpc.ErrWrongID}, &rpc.CallError{Sent: rpc.Answered, Err: rpc.ErrTooBig}},
		"":    {&RPCError{Code: 7}, ErrDenied, nil},
	} {
		for _, err := range errs {
			if got := Sent(explain("s", err)); got != want {
				t.Errorf("%v: %q, want %q", err, got, want)
			}
		}
	}
}
