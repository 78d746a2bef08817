package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

// What is read of an entry of another client can be written into a file of Wharf, whatever key stands beside its command
// or its url: one that is refused there would keep all others of an import out.
func TestForeignEntriesAreWritable(t *testing.T) {
	values := []any{"x", "https://h.example/x", "5s", true, false, 5, []string{"a"}, map[string]any{"A": "b"}, map[string]any{"A": map[string]string{"b": "c"}}, map[string]string{"clientId": "x", "CLIENT_ID": "x"}}
	for _, base := range []map[string]any{{"command": "node"}, {"url": "https://h.example/mcp"}} {
		for _, key := range config.ForeignUsed() {
			for _, value := range values {
				entry := map[string]any{key: value}
				for own, v := range base {
					entry[own] = v
				}
				text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"a": entry}})
				if err != nil {
					t.Fatal(err)
				}
				for _, path := range []string{"a.json", ".gemini/settings.json"} {
					f, err := config.Parse(path, text)
					if err != nil {
						continue
					}
					for _, s := range f.Servers {
						s, _ := s.Adopt(make(map[string]string), make(map[string]string))
						written, err := tomledit.AddTables(nil, tomledit.Server(s))
						if err == nil {
							_, err = config.Parse("wharf.toml", written)
						}
						if err != nil {
							t.Errorf("%s: %s: %v\n%s", path, text, err, strings.TrimSpace(string(written)))
						}
					}
				}
			}
		}
	}
}
