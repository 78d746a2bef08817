package gateway

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// handshake is the initialize of a legacy client. Later messages of the client wait for the
// answer to initialize. Messages to the client are sent after that answer.
type handshake struct {
	resultSent chan struct{} // closed when the result is on its way

	mu         sync.Mutex
	inProgress chan struct{} // closed when the initialize under way is answered; nil if there is none
	id         string        // of that initialize
	succeeded  bool          // an initialize has had a result
	version    string        // the revision in that result
}

func newHandshake() *handshake { return &handshake{resultSent: make(chan struct{})} }

// arrived notes that an initialize has arrived. Later requests wait for its answer, even if their
// goroutines run first.
func (h *handshake) arrived(id json.RawMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inProgress == nil && !h.succeeded {
		h.inProgress, h.id = make(chan struct{}), string(id)
	}
}

// check returns an error for an initialize that is not the one under way, or that comes after one
// has succeeded.
func (h *handshake) check(id json.RawMessage) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.succeeded || h.id != string(id) {
		return &rpc.Error{Code: mcp.CodeInvalidRequest, Message: "initialize was sent before on this connection"}
	}
	return nil
}

// succeed notes that initialize has a result, and its revision.
func (h *handshake) succeed(version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.succeeded, h.version = true, version
}

// agreed reports whether an initialize has had a result, and returns its revision.
func (h *handshake) agreed() (open bool, version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.succeeded, h.version
}

// finished notes that the answer to an initialize is on its way, so that messages sent from now on
// come after it. A client whose initialize has failed may send another.
func (h *handshake) finished(id json.RawMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inProgress == nil || h.id != string(id) {
		return
	}
	close(h.inProgress)
	if h.inProgress = nil; h.succeeded {
		close(h.resultSent)
	}
}

// await waits for an initialize that is under way. If there has been none, or if it fails, await
// returns the error that refuses the message. method is the method of the message.
func (h *handshake) await(ctx context.Context, method string) error {
	h.mu.Lock()
	inProgress := h.inProgress
	h.mu.Unlock()
	if inProgress != nil {
		select {
		case <-inProgress:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.succeeded {
		return &rpc.Error{Code: mcp.CodeInvalidRequest, Message: method + " came before initialize was answered"}
	}
	return nil
}

// awaitResultSent waits until the result is on its way, or until ctx or the client ends.
func (h *handshake) awaitResultSent(ctx, client context.Context) error {
	select {
	case <-h.resultSent:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-client.Done():
		return context.Cause(client)
	}
}
