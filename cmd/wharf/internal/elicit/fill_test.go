package elicit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/form"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// Whatever a server asks for: what is shown of its fields is harmless.
func FuzzFields(f *testing.F) {
	f.Add(`{"properties":{"a":{"type":"string","title":"\u001b","description":"\u202e","enum":["1","\u0007"]}},"required":["a"]}`)
	f.Add(`{"properties":{"\u009b":{"type":"string","format":"\u001b[2J","pattern":"\r","default":"\u001b"}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		fields, err := form.Read(t.Context(), json.RawMessage(schema))
		if err != nil {
			return
		}
		a := &Asker{Terminal: new(term.Terminal), Server: host.Server{Name: "files"}}
		for i := range fields {
			if said := a.about(&fields[i]) + a.heading(&fields[i], i+1, len(fields)); strings.IndexFunc(said, cleantext.IsUnsafe) >= 0 {
				t.Errorf("%s: says %q", schema, said)
			}
		}
	})
}
