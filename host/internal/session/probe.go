package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// ErrOtherTransport says that the URL has no Streamable HTTP endpoint. It may have the older
// transport, HTTP+SSE (2026-07-28/basic/transports/streamable-http#backward-compatibility).
var ErrOtherTransport = errors.New("there is no Streamable HTTP endpoint")

// probe finds the era over HTTP by the answer to one request:
//
//   - a modern server answers it, or refuses its version and names others;
//   - a legacy server refuses it with a status in the 400s, or with an error of
//     JSON-RPC of its own choice; initialize follows;
//   - a status that any server may give to any request (a sign-in, a limit, a
//     fault) and a failing network tell nothing. They are errors, and not a
//     reason to speak to a modern server as to a legacy one.
//
// Of the error codes that are new in the modern era, only the refusal of a version is taken for a
// modern server's, because it says what to do next. Legacy servers use the other codes for
// anything. So probe tries initialize after those too. If the server refuses it, probe returns the
// first refusal.
func (h *handshake) probe(ctx context.Context) (*agreedConn, error) {
	got, err := h.receive(ctx, h.discover(ctx, modernVersions[0]))
	if err != nil {
		return nil, err
	}
	if got.err != nil && !revealsServer(got.err) {
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

// revealsServer reports whether the end of a request, err, shows what kind of server there is.
func revealsServer(err error) bool {
	switch status := statusOf(err); {
	case status == 0:
		return answered(err) || errors.Is(err, rpc.ErrNoResponse)
	case status >= 300 && status < 400, status >= 500:
		return false
	case status == 401, status == 403, status == 407, status == 408, status == 429:
		return false // these statuses are about the caller or its rate, not about the request
	}
	return true
}

// misplaced reports whether err, the answer to initialize, may come from a URL without Streamable
// HTTP. An error that only a modern server sends proves that the URL has it.
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

// ownCode reports whether err has a code that is new in the modern era.
func ownCode(err error) bool {
	return slices.Contains([]int{mcp.CodeHeaderMismatch, mcp.CodeMissingClientCapability, mcp.CodeUnsupportedVersion}, codeOf(err))
}

// codeOf returns the code of the error that a server answered, or 0.
func codeOf(err error) int {
	if fault := (*rpc.Error)(nil); errors.As(err, &fault) {
		return fault.Code
	}
	return 0
}
