package host

import (
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// TestPermittedResult holds that a list loses the tools that are not permitted, and that all else
// keeps its bytes.
func TestPermittedResult(t *testing.T) {
	v := view{entry: &config.Server{DisabledTools: []string{"no"}}, scope: policy.Everything}
	for result, want := range map[string]string{
		`{ "tools" : [ {"name":"a", "n":1e400} , {"name":"b"} ] , "x":-0}`:                                                          `{ "tools" : [ {"name":"a", "n":1e400} , {"name":"b"} ] , "x":-0}`,
		`{"x":{"a":1,"a":2}, "tools":[ {"name":"no"}, {"n":9223372036854775808, "name":"a"} ,{"name":"b"}],"nextCursor":"\u0041" }`: `{"x":{"a":1,"a":2}, "tools":[{"n":9223372036854775808, "name":"a"},{"name":"b"}],"nextCursor":"\u0041" }`,
		`{"tools":[{"name":"n\u006f"}]}`: `{"tools":[]}`,
		`{"tools":[{"name":"a","name":"no"},{"name":"no","name":"a"},{},5,null,{"name":1}],"tools":[{"name":"no"}]}`: `{"tools":[],"tools":[]}`,
		`{"tools":null}`: `{"tools":null}`,
		`[1]`:            `[1]`,
	} {
		if got := v.shownResult(t.Context(), mcp.MethodListTools, []byte(result)); string(got) != want {
			t.Errorf("%s became %s, want %s", result, got, want)
		}
	}
}
