package stream

import (
	"context"
	"fmt"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
)

// Sealed is an [Address] with credentials. Each stream gets them from Blob. The guest
// decides where in the stream they are sent, and cannot read them.
type Sealed struct {
	Address

	// Blob returns what signs in. It is called for each stream, before it is
	// dialled, and may wait until ctx ends, with the handle at the latest. No
	// bytes mean that the stream needs none; an error ends the handle. The callee does
	// not change the bytes afterwards.
	Blob func(ctx context.Context) ([]byte, error)
}

// Opener implements [capability.Target].
func (s Sealed) Opener(*capability.Limits) capability.Opener { return Opener(s.serve) }

func (s Sealed) serve(h *Handle) {
	blob, err := s.Blob(h.Context)
	if err != nil {
		h.Fail(abi.Denied, fmt.Errorf("sign in to %s: %w", s.Address, err))
		return
	}
	s.connect(h, blob)
}
