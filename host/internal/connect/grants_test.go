package connect

import (
	"reflect"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"github.com/wharf-mcp/wharf/host/internal/modules"
)

// What an entry says of its command, of its url and of the way there is in the grant.
func TestGrants(t *testing.T) {
	d := &Dialer{}
	got, err := d.grants(config.Server{Command: "c", Args: []string{"a", "b"}, Env: map[string]string{"Y": "2", "X": "1"}, Dir: "/d"}, "stdio", nil)
	want := []capability.Grant{{Name: modules.MainGrant, To: process.Process{Command: "c", Args: []string{"a", "b"}, Env: []string{"X=1", "Y=2"}, Dir: "/d"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for via, anyPath := range map[string]bool{"http": false, transportSSE: true} {
		got, err := d.grants(config.Server{
			URL: "https://a.example/mcp", Headers: map[string]string{"Y": "2", "X": "1", "authorization": "Bearer ", "content-type": "text/plain", "MCP-Session-Id": "x"},
			Proxy: "http://proxy.example:1", TLS: config.TLS{Name: "b.example"},
		}, via, nil)
		if err != nil || len(got) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		o := got[0].To.(*httpclient.Origin)
		if o.String() != "https://a.example/mcp" || o.Proxy != "http://proxy.example:1" || o.TLS.Name != "b.example" || o.AnyPath != anyPath || o.Credentials != nil ||
			!reflect.DeepEqual(o.Headers, []abi.Pair{{Key: "X", Value: "1"}, {Key: "Y", Value: "2"}}) {
			t.Errorf("%s: %+v", via, o)
		}
	}
	secured := secure(config.Server{TLS: config.TLS{CA: "1", Cert: "2", Key: "3", Name: "4"}})
	if want := (dial.TLS{CAFile: "1", CertFile: "2", KeyFile: "3", Name: "4"}); secured != want {
		t.Errorf("%+v, want %+v", secured, want)
	}
}
