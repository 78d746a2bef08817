package session

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// offered returns the capabilities that a server of an era is told of, as it is told.
func offered(p *process, era mcp.Era) string {
	if era == mcp.Legacy {
		return string(member(p.find("initialize")[0].Params, "capabilities"))
	}
	return string(member(member(p.find("tools/call")[0].Params, "_meta"), mcp.MetaClientCapabilities))
}

func TestDeclaredCapabilities(t *testing.T) {
	type declared = map[string]json.RawMessage
	everyone := func(c *setup) {
		helpful(new([]string))(c)
		c.Roots = nil
	}
	tests := []struct {
		name   string
		change func(*setup)
		want   map[mcp.Era]string
		flaw   string
	}{
		{name: "experimental", change: func(c *setup) { c.Capabilities = declared{"experimental": json.RawMessage(`{"x":{"y":1}}`)} },
			want: map[mcp.Era]string{
				mcp.Legacy: `{"experimental":{"x":{"y":1}}}`,
				mcp.Modern: `{"experimental":{"x":{"y":1}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`,
			}},
		{name: "extension", change: func(c *setup) {
			c.Extensions = declared{"io.modelcontextprotocol/ui": json.RawMessage(`{"mimeTypes":["text/html"]}`)}
		}, want: map[mcp.Era]string{
			mcp.Legacy: `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]}}}`,
			mcp.Modern: `{"extensions":{"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]}}}`,
		}},
		{name: "modes", change: func(c *setup) {
			everyone(c)
			c.Capabilities = declared{"sampling": json.RawMessage(`{"tools":{},"context":{}}`), "elicitation": json.RawMessage(`{"form":{}}`)}
		}, want: map[mcp.Era]string{
			mcp.Legacy: `{"elicitation":{"form":{}},"sampling":{"tools":{},"context":{}}}`,
			mcp.Modern: `{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}},"sampling":{"tools":{},"context":{}}}`,
		}},
		{name: "no object", change: func(c *setup) { c.Capabilities = declared{"sampling": json.RawMessage(`true`)} },
			flaw: "capability sampling of the client: want an object, got true"},
		{name: "no JSON", change: func(c *setup) { c.Extensions = declared{"x/y": json.RawMessage(`{`)} }, flaw: "extension x/y of the client"},
		{name: "elsewhere", change: func(c *setup) { c.Capabilities = declared{"extensions": json.RawMessage(`{}`)} }, flaw: "declare them as Extensions"},
	}
	for _, test := range tests {
		for _, era := range eras {
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				d := launcher(able(era, everything))
				if test.flaw != "" {
					cfg := d.config()
					test.change(&cfg)
					if _, err := New(cfg.Config); err == nil || !strings.Contains(err.Error(), test.flaw) {
						t.Errorf("%s: %v", test.name, err)
					}
					return
				}
				call(t, d.open(test.change))
				if got := offered(d.process(0), era); got != test.want[era] {
					t.Errorf("%s, %s: offered %s, want %s", test.name, era, got, test.want[era])
				}
			})
		}
	}
}

// TestModesOfElicitation holds that a server gets no answer in a mode that was not
// offered.
func TestModesOfElicitation(t *testing.T) {
	for declared, want := range map[string][2]bool{ // form, url
		``: {true, true}, `{}`: {true, false}, `{"form":{}}`: {true, false}, `{"url":{}}`: {false, true}, `{"form":{},"url":{}}`: {true, true},
	} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(oldServer())
			d.open(func(c *setup) {
				helpful(new([]string))(c)
				if declared != "" {
					c.Capabilities = map[string]json.RawMessage{"elicitation": json.RawMessage(declared)}
				}
			})
			p := d.process(0)
			for i, mode := range []string{mcp.ElicitForm, mcp.ElicitURL} {
				p.print(`{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":{"mode":%q,"message":"?","url":"https://a.example","elicitationId":"1"}}`, i, mode)
				synctest.Wait()
				replies := p.find("reply")
				last := replies[len(replies)-1]
				if answered := last.Error == nil; answered != want[i] || !answered && last.Error.Code != mcp.CodeInvalidParams {
					t.Errorf("%q, %s: answered %s, %v", declared, mode, last.Result, last.Error)
				}
			}
		})
	}
}

// TestAnswersToALegacyServer has a legacy server ask for all that a client answers with a
// result.
func TestAnswersToALegacyServer(t *testing.T) {
	var asked []string
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer())
		d.open(helpful(&asked))
		p := d.process(0)
		for method, want := range map[string]string{
			"ping": `{}`, "roots/list": `{"roots":[]}`, "sampling/createMessage": `{"role":"assistant"}`,
			"elicitation/create": `{"action":"accept","content":{"name":"x"}}`,
		} {
			p.print(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":{"message":"Who?","maxTokens":1}}`, method, method)
			synctest.Wait()
			replies := p.find("reply")
			if last := replies[len(replies)-1]; string(last.Result) != want {
				t.Errorf("%s: answered %s, %v", method, last.Result, last.Error)
			}
		}
	})
}

// TestHandlers has servers of both eras ask for what only a handler answers.
func TestHandlers(t *testing.T) {
	type handler = func(context.Context, json.RawMessage) (json.RawMessage, error)
	handlers := func(c *setup) {
		c.Handlers = map[string]handler{
			"x/echo":   func(_ context.Context, p json.RawMessage) (json.RawMessage, error) { return p, nil },
			"x/broken": func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`{`), nil },
			"x/refuses": func(context.Context, json.RawMessage) (json.RawMessage, error) {
				return nil, &rpc.Error{Code: -7, Message: "no"}
			},
			"x/fails": func(context.Context, json.RawMessage) (json.RawMessage, error) {
				return nil, errors.New("the disk is on fire")
			},
			"roots/list": func(context.Context, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`{"roots":7}`), nil
			},
		}
	}
	tests := []struct{ method, legacy, modern string }{ // "" for modern is an error
		{"x/echo", `{"a":1}`, `{"a":1}`},
		{"roots/list", `{"roots":7}`, `{"roots":7}`},
		{"x/refuses", "MCP error -7: no", ""},
		{"x/fails", "MCP error -32603: the client could not answer", ""},
		{"x/broken", "MCP error -32603: internal error", ""},
		{"x/other", "MCP error -32601: method not found", ""},
	}
	for _, test := range tests {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(oldServer())
			d.open(handlers)
			p := d.process(0)
			p.print(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"a":1}}`, test.method)
			synctest.Wait()
			got := string(p.find("reply")[0].Result)
			if fault := p.find("reply")[0].Error; fault != nil {
				got = fault.Error()
			}
			if got != test.legacy {
				t.Errorf("%s: answered %s, want %s", test.method, got, test.legacy)
			}
		})
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(newServer().with("tools/call", inTurns(
				wants(`"inputRequests":{"k":{"method":"`+test.method+`","params":{"a":1}}}`), answer(echoResult))))
			_, err := call(t, d.open(handlers))
			if test.modern == "" {
				if !errors.Is(err, ErrInputRequired) && test.method != "x/broken" || err == nil {
					t.Errorf("%s: %v", test.method, err)
				}
				return
			}
			calls := d.process(0).find("tools/call")
			if err != nil || len(calls) != 2 {
				t.Fatalf("%s: %d calls, %v", test.method, len(calls), err)
			}
			if got := member(member(calls[1].Params, "inputResponses"), "k"); string(got) != test.modern {
				t.Errorf("%s: answered %s, want %s", test.method, got, test.modern)
			}
		})
	}
}
