package gateway

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// handshake is the initialize of a legacy client. What the client sends behind it waits for its
// answer, and what is sent to the client comes behind that answer.
type handshake struct {
	started chan struct{} // closed when the result is on its way

	mu      sync.Mutex
	opening chan struct{} // closed when the initialize under way is answered; nil if there is none
	id      string        // of that initialize
	open    bool          // there is a result
	version string        // the revision that it names
}

func newHandshake() *handshake { return &handshake{started: make(chan struct{})} }

// expect says that an initialize has arrived. The requests behind it wait for its answer, even if
// they are served first.
func (h *handshake) expect(id json.RawMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opening == nil && !h.open {
		h.opening, h.id = make(chan struct{}), string(id)
	}
}

// begin returns an error for an initialize that is not the one that expect was told of.
func (h *handshake) begin(id json.RawMessage) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open || h.id != string(id) {
		return &rpc.Error{Code: mcp.CodeInvalidRequest, Message: "initialize was sent before on this connection"}
	}
	return nil
}

// succeed says that there is a result, and the revision that it names.
func (h *handshake) succeed(version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open, h.version = true, version
}

// agreed reports whether there is a result, and the revision that it names.
func (h *handshake) agreed() (open bool, version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open, h.version
}

// answered says that an initialize is answered, and that what is sent from now on comes behind the
// answer. A client whose initialize has failed may send another.
func (h *handshake) answered(id json.RawMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opening == nil || h.id != string(id) {
		return
	}
	close(h.opening)
	if h.opening = nil; h.open {
		close(h.started)
	}
}

// await waits for an initialize that is under way. It refuses a message of that method if there is
// none, or if it fails.
func (h *handshake) await(ctx context.Context, method string) error {
	h.mu.Lock()
	opening := h.opening
	h.mu.Unlock()
	if opening != nil {
		select {
		case <-opening:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.open {
		return &rpc.Error{Code: mcp.CodeInvalidRequest, Message: method + " came before initialize was answered"}
	}
	return nil
}

// awaitStart waits until the result is on its way, or until ctx or the client ends.
func (h *handshake) awaitStart(ctx, client context.Context) error {
	select {
	case <-h.started:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-client.Done():
		return context.Cause(client)
	}
}
