package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/gateway"
)

// Where there are as many copies of a server as may be, the one that has been idle for the longest time
// makes room. One whose client listens, has a call open, or has sent something within a minute, does not.
func TestIdleCopyMakesRoom(t *testing.T) {
	s := newSite(t, legacy, func(_ *host.Config, g *gateway.Config) {
		g.Servers[0].Share, g.Servers[0].Copies = config.ShareClient, 2
	})
	first, firstServer := s.open(legacy, `{}`)
	second, _ := s.open(legacy, `{}`)
	refused := func() {
		t.Helper()
		body, _ := io.ReadAll(s.post(initialize("0", legacy, `{}`)).Body)
		if !strings.Contains(string(body), "files runs 2 times for clients that cannot share it, all in use, which is the most") {
			t.Errorf("one more: %s", body)
		}
	}
	refused()
	s.gateway.SetCopyIdle(0)
	s.do(t.Context(), "GET", "", second).events("0-0")
	third, thirdServer := s.open(legacy, `{}`)
	for range firstServer.lines { // until it ends
	}
	if a := s.post(initialized, first); a.StatusCode != http.StatusNotFound {
		t.Errorf("the client of the copy that has ended: %d", a.StatusCode)
	}
	s.post(initialized, second).want(202, "")

	call, hangUp := s.begun(thirdServer, third)
	call.events("3-0", "3-1 "+progressed)
	hangUp()
	refused()
	s.do(t.Context(), "DELETE", "", third).want(204, "")
	s.open(legacy, `{}`)
}
