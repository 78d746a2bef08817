package gateway_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
)

// What a server lists to a client of one principal is shown to no client of another that reaches all
// servers as one, in this run or in the next, and leads none of them.
func TestListsOfAPrincipal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "catalogue")
	lists := func(word string) (tools, resources string) {
		return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, word), fmt.Sprintf(`{"uri":"x:%s","name":"x"}`, word)
	}
	for run, whos := range [][]string{{"ann", "", "bob"}, {"bob", "ann", ""}} {
		p := newPair(t, modern, legacy, byHeader, func(hc *host.Config, _ *gateway.Config) { hc.CatalogueDir = dir })
		files, notes := p.play(p.servers, "files", modern, "", ""), p.play(p.notes, "notes", legacy, "", "")
		web := httptest.NewServer(p.gateway.Handler())
		s := &site{scene: p.scene, url: web.URL + "/mcp", client: web.Client()}
		ask := func(who, method, params string, headers ...string) string {
			a := s.post(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+modernMeta(`{}`, "")+params+`}}`, modernHeaders(method, append(headers, "User: "+who)...)...)
			body, _ := io.ReadAll(a.Body)
			return string(body)
		}
		for n, who := range whos {
			word := fmt.Sprintf("%s%d", who, run)
			for _, f := range []*fake{files, notes} {
				f.mu.Lock()
				f.tools, f.resources = lists(word)
				f.mu.Unlock()
			}
			if who == "" && run == 1 {
				word = "0" // which the user was listed in the first run
			}
			if got := ask(who, "tools/list", ""); strings.Count(got, `"name":"files__`) != 1 || !strings.Contains(got, `"files__`+word+`"`) || !strings.Contains(got, `"notes__`+word+`"`) {
				t.Errorf("run %d: %q was listed %s", run, who, got)
			}
			if got := ask(who, "resources/list", ""); strings.Count(got, `"uri":`) != 2 || !strings.Contains(got, `x:`+word+`"`) {
				t.Errorf("run %d: %q was listed %s", run, who, got)
			}
			for _, other := range whos[:n] {
				if got := ask(other, "resources/read", `,"uri":"x:`+word+`"`, "Mcp-Name: x:"+word); !strings.Contains(got, "no server lists") {
					t.Errorf("run %d: %q has read what only %q was listed: %s", run, other, who, got)
				}
			}
		}
		p.gateway.Close()
		web.Close()
		p.host.Close()
	}
}
