package template_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/sdk/template"
)

// reader is what makes a plugin say its setting "loft" where it would dial: lines for
// the manifest, behind a line of it, and lines for the function that dials.
type reader struct{ summary, declare, dial, say string }

var readers = map[string]reader{
	template.C: {
		"WHARF_SUMMARY, \"MCP in lines of JSON over a byte stream\");\n", `
	wharf_pair(&b, WHARF_SETTING, "lof", "one");
	wharf_pair(&b, WHARF_SETTING, "loft", "the one");
	wharf_pair(&b, WHARF_SETTING, "loftier", "");
`,
		"static int32_t dial(void) {\n", `
	uint8_t said[8];
	int32_t n = wharf_setting("loft", said, sizeof said);
	if (wharf_message_cap() != CAP) fail(0, WHARF_PROTOCOL, "another cap");
	else if (n == WHARF_NOT_FOUND) fail(0, WHARF_PROTOCOL, "nothing");
	else if (n == WHARF_TOO_LARGE) fail(0, WHARF_PROTOCOL, "too much");
	else wharf_report(WHARF_FAILED, 0, WHARF_PROTOCOL, said, (uint32_t)n);
	if (n < 100) return WHARF_PROTOCOL;
`,
	},
	template.Rust: {
		".text(wharf::SUMMARY, \"MCP in lines of JSON over a byte stream\")\n", `
        .pair(wharf::SETTING, "lof", "one")
        .pair(wharf::SETTING, "loft", "the one")
        .pair(wharf::SETTING, "loftier", "")
`,
		"    fn dial(&self) -> i32 {\n", `
        let mut said = [0; 8];
        let text: &[u8] = match wharf::setting("loft", &mut said) {
            _ if wharf::message_cap() != CAP => b"another cap",
            Ok(text) => text.unwrap_or(b"nothing"),
            Err(wharf::TOO_LARGE) => b"too much",
            Err(_) => b"what?",
        };
        wharf::report(wharf::FAILED, 0, wharf::PROTOCOL, text);
        if text.len() < 100 { return wharf::PROTOCOL; }
`,
	},
	template.AssemblyScript: {
		"wharf.SUMMARY, \"MCP in lines of JSON over a byte stream\");\n", `
  wharf.pair(wharf.SETTING, "lof", "one");
  wharf.pair(wharf.SETTING, "loft", "the one");
  wharf.pair(wharf.SETTING, "loftier", "");
`,
		"function dial(): i32 {\n", `
  const said: usize = memory.data(8);
  const n = wharf.setting("loft", said, 8);
  if (wharf.messageCap() != CAP) wharf.fail(0, wharf.PROTOCOL, "another cap");
  else if (n == wharf.NOT_FOUND) wharf.fail(0, wharf.PROTOCOL, "nothing");
  else if (n == wharf.TOO_LARGE) wharf.fail(0, wharf.PROTOCOL, "too much");
  else wharf.report(wharf.FAILED, 0, wharf.PROTOCOL, said, n);
  if (n < 100) return wharf.PROTOCOL;
`,
	},
}

// A setting of the server entry is found among others, or not at all; what is longer
// than the room for it is told apart from what is not there. So is the message cap found,
// which stands behind them.
func TestSettings(t *testing.T) {
	if testing.Short() {
		t.Skip("builds plugins, which takes a while")
	}
	for lang, r := range readers {
		t.Run(lang, func(t *testing.T) {
			p := template.Plugin{Name: "pigeon", Kind: template.Transport, Lang: lang}
			file := buildChanged(t, p, func(source string) string {
				source = strings.Replace(source, r.summary, r.summary+r.declare, 1)
				return strings.Replace(source, r.dial, r.dial+strings.ReplaceAll(r.say, "CAP", strconv.Itoa(messageCap)), 1)
			})
			for want, settings := range map[string]map[string]string{
				"grey":     {"lof": "x", "loft": "grey", "loftier": "z"},
				"nothing":  {"lof": "longer than eight bytes", "loftier": "x"},
				"too much": {"lof": "x", "loft": "longer than eight bytes"},
				"8 bytes!": {"lof": strings.Repeat("x", 300), "loft": "8 bytes!"},
			} {
				if got := failure(t, file, settings); !strings.Contains(got, want) {
					t.Errorf("%v: %s", settings, got)
				}
			}
		})
	}
}

// messageCap is what a message of the server may have, in bytes.
const messageCap = 3 << 20

// failure is why a server with these settings cannot be connected.
func failure(t *testing.T, file string, settings map[string]string) string {
	t.Helper()
	h, err := host.New(t.Context(), host.Config{
		Files:     map[string]config.Plugin{"pigeon": {Name: "pigeon", File: file}},
		Reconnect: config.Reconnect{Backoff: []time.Duration{}, Failures: -1}, OneShot: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	_, err = h.Connect(t.Context(), host.Server{
		Name: "loft", Transport: "pigeon", Address: "tcp:127.0.0.1:1", Settings: settings, MessageCap: messageCap,
	})
	if err == nil {
		t.Fatal("it connected")
	}
	return err.Error()
}
