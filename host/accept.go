package host

import (
	"context"

	"github.com/wharf-mcp/wharf/host/internal/connect"
)

// Accept serves a client over a byte stream that is framed by a transport plugin. It is for the
// packages gateway and control. The caller shuts the connection down before it closes the host.
func (h *Host) Accept(ctx context.Context, a connect.Accept) (*connect.Accepted, error) {
	ctx, over, err := h.begin(ctx)
	if err != nil {
		a.Stream.Close()
		return nil, err
	}
	defer over()
	return h.dialer.Accept(ctx, a)
}
