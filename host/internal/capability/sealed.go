package capability

import (
	"context"
	"fmt"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// Sealed is an [Address] whose streams each begin with what signs in to it. The
// guest decides where in the stream that goes, and never sees it.
type Sealed struct {
	Address

	// Blob returns what signs in. It is called for each stream, before it is
	// dialled, and may wait until ctx ends, with the handle at the latest. No
	// bytes mean that nothing is to be said; an error is that of the handle. The
	// bytes are not changed afterwards by whoever made them.
	Blob func(ctx context.Context) ([]byte, error)
}

// hold implements [Target].
func (s Sealed) hold(t *Table, g Grant, r *abi.OpenRequest, sink hostio.Sink) (tenant, abi.Status, error) {
	return holdBytes(newHandle(t, g, sink, s.serve), r)
}

func (s Sealed) serve(h *handle) {
	blob, err := s.Blob(h.quit)
	if err != nil {
		h.fail(abi.Denied, fmt.Errorf("sign in to %s: %w", s.Address, err))
		return
	}
	s.connect(h, blob)
}
