package host

import (
	"errors"
	"fmt"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/session"
)

// TestErrorsOfChecks has the errors of both checks as a session gives them: what
// was not sent is no failure to reach the server, and what was answered is the
// server's.
func TestErrorsOfChecks(t *testing.T) {
	bad := &session.ArgumentError{Tool: "echo", Faults: []Fault{{Kind: FaultMissing, Pointer: "/message"}}}
	err := explain("files", fmt.Errorf("call: %w", &rpc.CallError{Method: "tools/call", Sent: rpc.NotSent, Err: bad}))
	var input *ArgumentError
	if !errors.As(err, &input) || !errors.Is(err, ErrNotSent) || errors.Is(err, ErrUnreachable) || errors.Is(err, ErrProtocol) {
		t.Errorf("%v", err)
	}
	worse := &session.ResultError{Tool: "echo", Faults: []Fault{{Want: "an integer"}}}
	err = explain("files", fmt.Errorf("call: %w", &rpc.CallError{Method: "tools/call", Sent: rpc.Answered, Err: worse}))
	var output *ResultError
	if !errors.As(err, &output) || !errors.Is(err, ErrProtocol) || errors.Is(err, ErrNotSent) || errors.Is(err, ErrUnreachable) {
		t.Errorf("%v", err)
	}
}
