package host

import (
	"errors"
	"slices"

	"github.com/wharf-mcp/wharf/host/internal/session"
)

// The transports of a url. The second is tried where the first is not spoken.
const (
	transportHTTP = "http"
	transportSSE  = "sse"
)

// routes returns the transports to try for an entry, in order.
func (h *Host) routes(s Server) []string {
	via := s.Via()
	if s.Transport != "" || via != transportHTTP || !slices.Contains(h.Transports(), transportSSE) {
		return []string{via}
	}
	switch s.Strategy {
	case "http-only":
		return []string{transportHTTP}
	case "sse-only":
		return []string{transportSSE}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if found := h.found[s.URL]; found == transportSSE || found == "" && s.Strategy == "sse-first" {
		return []string{transportSSE, transportHTTP}
	}
	return []string{transportHTTP, transportSSE}
}

// elsewhere reports whether err, of a try over one transport, says that the
// server may be reached over the other. What was remembered may be outdated.
func elsewhere(via string, err error) bool {
	return errors.Is(err, session.ErrOtherTransport) || via == transportSSE
}

// remember keeps which transport a url has.
func (h *Host) remember(s Server, via string) {
	if s.URL == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.found[s.URL] = via
}
