package host

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Pages that follow each other make a list, and others make none.
func TestRelayedPages(t *testing.T) {
	type page struct{ params, result string }
	long := strings.Repeat(" ", mcp.MaxListBytes)
	for name, tc := range map[string]struct {
		pages []page
		want  string
	}{
		"one":            {[]page{{``, `{"tools":[{"name":"a"}, 1 ],"x":{}}`}}, `[{"name":"a"},1]`},
		"none":           {[]page{{`{}`, `{"tools":[]}`}}, `[]`},
		"two":            {[]page{{`{}`, `{"nextCursor":"","tools":[1]}`}, {`{"cursor":""}`, `{"tools":[2]}`}}, `[1,2]`},
		"the last alone": {[]page{{`{"cursor":"2"}`, `{"tools":[2]}`}}, ``},
		"one is missing": {[]page{{`{}`, `{"tools":[1],"nextCursor":"2"}`}, {`{"cursor":"3"}`, `{"tools":[3]}`}}, ``},
		"begun anew":     {[]page{{`{}`, `{"tools":[1],"nextCursor":"2"}`}, {`{}`, `{"tools":[3]}`}, {`{"cursor":"2"}`, `{"tools":[2]}`}}, `[3]`},
		"too long":       {[]page{{`{}`, `{"tools":[{` + long + `}]}`}}, ``},
		"another list":   {[]page{{`{}`, `{"prompts":[1]}`}}, `[]`},
	} {
		var l relayedLists
		for _, p := range tc.pages {
			l.add(catalogue.Tools, json.RawMessage(p.params), json.RawMessage(p.result), time.Now())
		}
		if got := string(l.whole[catalogue.Tools].Items); got != tc.want {
			t.Errorf("%s: %.100s; want %s", name, got, tc.want)
		}
	}
}
