package session

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// TestFarewellWithoutWords holds that a session ends by the end of its connection
// alone: the protocol has no message for it, whatever older descriptions say.
func TestFarewellWithoutWords(t *testing.T) {
	for era, want := range map[mcp.Era]string{mcp.Legacy: probedFirst, mcp.Modern: probed} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(able(era, everything))
			s := d.open()
			synctest.Wait() // for it to read what it was sent
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			p := d.process(0)
			if got := p.received(); got != want || p.sent != len(p.seen) {
				t.Errorf("%s: the server saw %s, want %s; it was sent %d messages", era, got, want, p.sent)
			}
		})
	}
}

// TestOldNamesOfProgress has a server that spells progress as some descriptions of
// the protocol do.
func TestOldNamesOfProgress(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer().with("tools/call", func(p *process, m message) {
			token := string(member(member(m.Params, "_meta"), "progressToken"))
			note(p, "notifications/progress", `{"token":`+token+`,"value":0.5}`)
			answer(echoResult)(p, m)
		}))
		var heard []mcp.Progress
		ctx := WithProgress(t.Context(), func(p mcp.Progress) { heard = append(heard, p) })
		if _, err := d.open().CallTool(ctx, "echo", nil); err != nil || len(heard) != 1 || heard[0].Done != 0.5 {
			t.Errorf("heard %v, %v", heard, err)
		}
	})
}

// TestHeardFromTheFirst has a server speak before it is spoken to.
func TestHeardFromTheFirst(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		var heard []string
		d := launcher(server{
			banner: `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"up"}}`,
			on:     oldServer().on,
		})
		d.open(func(c *setup) {
			c.Notify = func(method string, params json.RawMessage, _ uint64) { heard = append(heard, method+string(params)) }
		})
		synctest.Wait()
		if want := `notifications/message{"data":"up"}`; strings.Join(heard, " ") != want {
			t.Errorf("heard %q, want %q", heard, want)
		}
	})
}

// TestForeignCodes holds that the codes which a server answers are shown as they
// are, whatever other descriptions of the protocol make of them.
func TestForeignCodes(t *testing.T) {
	for code, kind := range map[int]string{
		-32000: "MCP error -32000: x", -32001: "MCP error -32001: x", -32002: "MCP error -32002: x",
		-32003: "MCP error -32003: x", -32004: "MCP error -32004: x", -32005: "MCP error -32005: x", 17: "MCP error 17: x",
	} {
		for _, era := range eras {
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				d := launcher(able(era, everything).with("tools/call", refuse(code, "x", `{"a":1}`)))
				_, err := call(t, d.open())
				if err == nil || !strings.HasSuffix(err.Error(), kind) || errors.Is(err, ErrClosed) || codeOf(err) != code {
					t.Errorf("%s: %d became %v", era, code, err)
				}
				if n := len(d.process(0).find("tools/call")); n != 1 {
					t.Errorf("%s: %d: called %d times", era, code, n)
				}
			})
		}
	}
}

// TestUnknownMembers holds that extensions and experiments pass, both ways, as
// they were written.
func TestUnknownMembers(t *testing.T) {
	const offered = `{"experimental":{"x":{"a":1}},"extensions":{"com.example/y":{}}}`
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(able(era, offered).with("com.example/do", answer(`{"resultType":"complete","b":2}`)))
			s := d.open()
			if got := string(s.Info().Capabilities); got != offered {
				t.Errorf("%s: it offers %s", era, got)
			}
			var result json.RawMessage
			if err := s.Call(t.Context(), "com.example/do", map[string]any{"c": 3}, &result); err != nil || !strings.Contains(string(result), `"b":2`) {
				t.Errorf("%s: %s, %v", era, result, err)
			}
			if err := s.Notify(t.Context(), "com.example/told", nil); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			p := d.process(0)
			if asked := p.find("com.example/do"); len(asked) != 1 || string(member(asked[0].Params, "c")) != "3" || len(p.find("com.example/told")) != 1 {
				t.Errorf("%s: the server saw %s", era, p.received())
			}
		})
	}
}
