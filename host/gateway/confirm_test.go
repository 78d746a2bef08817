package gateway_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/gateway"
	module "github.com/wharf-mcp/wharf/host/internal/extism/speaker"
)

// asking has a policy want the client to be asked about each call.
func asking(t *testing.T) func(*host.Config, *gateway.Config) {
	asks := module.Module{
		Describe: "wharf_policy_describe", Call: "wharf_policy_decide", Exit: -1,
		Manifest: `{"abi":"wharf-policy-0","name":"asks","version":"1"}`, Reply: `{"id":0,"verdict":"ask","reason":"it costs money"}`,
	}.Counting()
	file := filepath.Join(t.TempDir(), "asks.wasm")
	if err := os.WriteFile(file, asks.Binary(), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(hc *host.Config, _ *gateway.Config) {
		hc.Files = maps.Clone(hc.Files)
		hc.Files["asks"] = config.Plugin{Name: "asks", File: file}
		hc.Policies = []config.Policy{{Name: "costs", Plugin: "asks", Servers: []string{"files"}}}
		hc.Confirm = gateway.Confirm
	}
}

// A policy that wants a person to be asked has the client asked whose call it is, in both eras of the client
// and of the server. What the client declines reaches no server.
func TestPolicyAsksTheClient(t *testing.T) {
	for _, era := range []struct{ client, server string }{{legacy, legacy}, {legacy, modern}, {modern, legacy}, {modern, modern}} {
		for action, want := range map[string]string{"accept": `files got `, "decline": `the person who was asked said no`} {
			t.Run(era.client+" to "+era.server+", "+action, func(t *testing.T) {
				p := newPair(t, era.server, era.server, asking(t))
				p.play(p.servers, "files", era.server, toolsOfFiles, ``)
				c := p.speaker(era.client)
				c.ask("tools/call", `{"name":"files__read","arguments":{}}`)
				if era.client == legacy {
					c.hears(`"method":"elicitation/create"`, `files/read`, `it costs money`)
					_, id, _ := strings.Cut(c.last, `"id":`)
					id, _, _ = strings.Cut(id, ",")
					c.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"` + action + `"}}`)
				} else {
					c.hears(`"resultType":"input_required"`, `"method":"elicitation/create"`, `files/read`, `it costs money`)
					_, key, _ := strings.Cut(c.last, `"inputRequests":{"`)
					key, rest, _ := strings.Cut(key, `"`)
					_, state, _ := strings.Cut(rest, `"requestState":"`)
					state, _, _ = strings.Cut(state, `"`)
					c.ask("tools/call", `{"name":"files__read","arguments":{},"inputResponses":{"`+key+`":{"action":"`+action+`"}},"requestState":"`+state+`"}`)
				}
				c.hears(want)
			})
		}
	}
}
