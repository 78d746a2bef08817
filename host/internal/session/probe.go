package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// ErrOtherTransport says that there is no Streamable HTTP where it was looked
// for. What is there may be the transport before it, HTTP+SSE
// (2026-07-28/basic/transports/streamable-http#backward-compatibility).
var ErrOtherTransport = errors.New("there is no Streamable HTTP endpoint")

// probe finds out the era over HTTP, where the answer to one request decides:
//
//   - a modern server answers it, or refuses its version and names others;
//   - a legacy server refuses it with a status in the 400s, or with an error of
//     JSON-RPC of its own choice; initialize follows;
//   - a status that any server may give to any request (a sign-in, a limit, a
//     fault) and a failing network tell nothing. They are errors, and not a
//     reason to speak to a modern server as to a legacy one.
//
// Of the errors that the modern era has brought only the refusal of a version
// counts as its own, because it says what to do next. Servers of the legacy era
// use the codes of the others for whatever they like. So initialize is tried
// then too; if it is refused, the first refusal is what there is to say.
func (h *handshake) probe(ctx context.Context) (*agreedConn, error) {
	got, err := h.receive(ctx, h.discover(ctx, modernVersions[0]))
	if err != nil {
		return nil, err
	}
	if got.err != nil && !telling(got.err) {
		return nil, h.left(ctx, got.err)
	}
	l, err := h.modern(ctx, got)
	if l != nil || err != nil {
		return l, err
	}
	l, err = h.greet(ctx)
	if ownCode(got.err) && (codeOf(err) != 0 || statusOf(err) != 0) {
		return nil, fmt.Errorf("the server refused %s: %w, and then initialize as well", mcp.MethodDiscover, got.err)
	}
	return l, err
}

// telling reports whether a request that ended with err shows what kind of
// server there is.
func telling(err error) bool {
	switch status := statusOf(err); {
	case status == 0:
		return answered(err) || errors.Is(err, rpc.ErrNoResponse)
	case status >= 300 && status < 400, status >= 500:
		return false
	case status == 401, status == 403, status == 407, status == 408, status == 429:
		return false // who asks, and how often, is at fault, not what was asked
	}
	return true
}

// misplaced reports whether err, of initialize, may come from a place where there is no
// Streamable HTTP. An error of a modern server shows that there is one.
func misplaced(err error) bool {
	switch statusOf(err) {
	case 400, 404, 405:
		return !ownCode(err) && codeOf(err) != mcp.CodeMethodNotFound
	}
	return false
}

// statusOf returns the HTTP status that err is about, or 0.
func statusOf(err error) int {
	var fault *rpc.Error
	var failure *rpc.StatusError
	switch {
	case errors.As(err, &fault):
		return fault.HTTP
	case errors.As(err, &failure):
		return failure.HTTP
	}
	return 0
}

// ownCode reports whether err has a code that the modern era has brought.
func ownCode(err error) bool {
	switch codeOf(err) {
	case mcp.CodeHeaderMismatch, mcp.CodeMissingClientCapability, mcp.CodeUnsupportedVersion:
		return true
	}
	return false
}

// codeOf returns the code of the error that a server answered, or 0.
func codeOf(err error) int {
	if fault := (*rpc.Error)(nil); errors.As(err, &fault) {
		return fault.Code
	}
	return 0
}
