package host_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
)

// A request on the stream of a call is answered with a POST before the call is over; a modern
// server may send none, and gets no answer.
func TestAskedOnTheStreamOfACall(t *testing.T) {
	t.Parallel()
	for _, legacy := range []bool{true, false} {
		replied := make(chan struct{}, 4)
		s := &site{legacy: legacy, heard: func(method string) {
			if method == "" {
				replied <- struct{}{}
			}
		}}
		s.tools = map[string]answer{"asks": func(w http.ResponseWriter, r *http.Request, id string) {
			page(200, mediaEvents, `data: {"jsonrpc":"2.0","id":"s1","method":"ping"}`+"\n\n")(w, r, id)
			w.(http.Flusher).Flush()
			if legacy {
				select {
				case <-replied:
				case <-r.Context().Done():
					return
				}
			}
			fmt.Fprintf(w, "data: %s\n\n", strings.ReplaceAll(fine, "%ID%", id))
		}}
		h := newHost(t, host.Config{Timeout: 10 * time.Second})
		session := connect(t, h, host.Server{Name: "asks", URL: serve(t, s)})
		if _, err := session.CallTool(t.Context(), "asks", nil); err != nil {
			t.Errorf("legacy %v: %v", legacy, err)
		}
		if err := h.Close(); err != nil || len(replied) > 0 {
			t.Errorf("legacy %v: %d answers more, %v", legacy, len(replied), err)
		}
	}
}
