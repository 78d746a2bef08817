package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// TestRelay passes on a call whose params, result, error and progress have what no type of
// Go holds.
func TestRelay(t *testing.T) {
	const (
		result = `{"content":[ ],"n":1e400,"n":9223372036854775808,"x":{"a":1,"a":2},"resultType":"complete"}`
		fault  = `{"message":"no","more":[1e400],"code":-32000,"data":{"a":1, "a":-0}}`
	)
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(able(era, everything).with("tools/call", inTurns(
				working(time.Second, `"progress":1,"x":1e400`, `"x":"é\u0041","progress":2`),
				answer(result),
				func(p *process, m message) { p.print(`{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, fault) })))
			s := d.open()
			var heard []string
			r := Relay{Method: "tools/call", Params: json.RawMessage(`{"name":"echo","arguments":{"n":1e400,"n":2}}`)}
			r.Progress = func(params json.RawMessage) { heard = append(heard, string(params)) }
			if got, err := s.Relay(t.Context(), &r); err != nil || string(got) != echoResult {
				t.Errorf("%s: %s, %v", era, got, err)
			}
			want := []string{`{"progressToken":1,"progress":1,"x":1e400}`, `{"progressToken":1,"x":"é\u0041","progress":2}`}
			if !slices.Equal(heard, want) {
				t.Errorf("%s: heard %s, want %s", era, heard, want)
			}
			r.Progress = nil
			if got, err := s.Relay(t.Context(), &r); err != nil || string(got) != result {
				t.Errorf("%s: %s, %v", era, got, err)
			}
			_, err := s.Relay(t.Context(), &r)
			var no *rpc.Error
			if !errors.As(err, &no) || string(no.Raw) != fault || no.Code != -32000 || string(no.Data) != `{"a":1, "a":-0}` {
				t.Errorf("%s: %v, raw %s", era, err, no.Raw)
			}
		})
	}
}

// TestRelayedHeaders has calls of a client over HTTP go to a server that gets no headers: they are
// compared with the arguments all the same, but for a tool whose definition no header can follow.
func TestRelayedHeaders(t *testing.T) {
	const list = `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"city":{"type":"string","x-mcp-header":"City"}}}},
		{"name":"odd","inputSchema":{"type":"object","properties":{"city":{"type":"object","x-mcp-header":"City"}}}}],"resultType":"complete"}`
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			s := launcher(able(era, everything).with("tools/list", answer(list)).with("tools/call", answer(echoResult))).open()
			for _, c := range []struct{ tool, sent, arguments, want string }{
				{"echo", "Oslo", `{"city":"Oslo"}`, ""},
				{"echo", "Rome", `{"city":"Oslo"}`, `is "Rome", and the argument is "Oslo"`},
				{"echo", "", `{"city":"Oslo"}`, "is missing"},
				{"echo", "", `{}`, ""},
				{"odd", "", `{"city":{}}`, ""},
				{"unknown", "Rome", `{}`, ""},
			} {
				r := Relay{Method: "tools/call", Params: json.RawMessage(`{"name":"` + c.tool + `","arguments":` + c.arguments + `}`)}
				r.Header = func(string) (string, bool) { return c.sent, c.sent != "" }
				_, err := s.Relay(t.Context(), &r)
				if c.want == "" && err != nil || c.want != "" && (codeOf(err) != mcp.CodeHeaderMismatch || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%s: %s %q %s: %v", era, c.tool, c.sent, c.arguments, err)
				}
			}
		})
	}
}

// TestRelayedClient has a modern server told of another client than that of the session.
func TestRelayedClient(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(newServer())
		s := d.open()
		send := func(r Relay) (info, capabilities string, err error) {
			r.Method = "tools/call"
			_, err = s.Relay(t.Context(), &r)
			calls := d.process(0).find("tools/call")
			meta := member(calls[len(calls)-1].Params, "_meta")
			return string(member(meta, mcp.MetaClientInfo)), string(member(meta, mcp.MetaClientCapabilities)), err
		}
		ownInfo, ownCapabilities, err := send(Relay{})
		if err != nil || ownInfo == "" || ownCapabilities == "" {
			t.Fatalf("%q, %q, %v", ownInfo, ownCapabilities, err)
		}
		info, capabilities, err := send(Relay{ClientInfo: json.RawMessage(`{"name":"n","x":1e400}`)})
		if err != nil || info != `{"name":"n","x":1e400}` || capabilities != ownCapabilities {
			t.Errorf("%q, %q, %v", info, capabilities, err)
		}
		info, capabilities, err = send(Relay{ClientCapabilities: json.RawMessage(`{"x":{}}`)})
		if err != nil || info != ownInfo || capabilities != `{"x":{}}` {
			t.Errorf("%q, %q, %v", info, capabilities, err)
		}
		for _, bad := range []string{`[]`, `{`, `null`, ``} {
			if _, _, err := send(Relay{ClientInfo: json.RawMessage(bad)}); !errors.Is(err, rpc.ErrNotSent) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	})
}

// TestRelayedQuestions has the server ask before it goes on. Fulfil answers with the callbacks
// of the session.
func TestRelayedQuestions(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		const asks = `{"resultType":"input_required","inputRequests":{"q":{"method":"x/y","params":{"n":1e400}}}}`
		d := launcher(newServer().with("tools/call", func(p *process, m message) {
			if member(m.Params, "inputResponses") == nil {
				answer(asks)(p, m)
				return
			}
			answer(echoResult)(p, m)
		}))
		var asked string
		s := d.open(func(c *setup) {
			c.Other = func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
				asked = fmt.Sprint(method, " ", string(params))
				return json.RawMessage(`{"ok":true}`), nil
			}
		})
		r := Relay{Method: "tools/call", Params: json.RawMessage(`{"name":"echo"}`)}
		if got, err := s.Relay(t.Context(), &r); err != nil || string(got) != asks || asked != "" {
			t.Errorf("%s, %v, asked %s", got, err, asked)
		}
		r.Fulfil = true
		if got, err := s.Relay(t.Context(), &r); err != nil || string(got) != echoResult || asked != `x/y {"n":1e400}` {
			t.Errorf("%s, %v, asked %s", got, err, asked)
		}
	})
}

// TestRelayedMeta holds that a relayed request keeps what its client wrote, but for the members
// of _meta that are about the client's own connection.
func TestRelayedMeta(t *testing.T) {
	const protocols = `"io.modelcontextprotocol/protocolVersion":"9","io.modelcontextprotocol/clientInfo":9,"io.modelcontextprotocol/clientCapabilities":9`
	const level = `"io.modelcontextprotocol/logLevel":"info"`
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(able(era, everything).with("x", answer(`{}`)))
			s := d.open()
			own := string(s.represents.Load().meta[mcp.Version20260728])
			for _, test := range []struct{ params, legacy, modern string }{
				{``, ``, `{` + own + `}`},
				{`{"a": [1e400 ,2] }`, `{"a": [1e400 ,2] }`, `{"a": [1e400 ,2],` + own + `}`},
				{`{ "_meta" : { "a" : "\u0041" , "b":-0 } , "c":1}`, `{ "_meta" : { "a" : "\u0041" , "b":-0 } , "c":1}`,
					`{ "_meta" : {"a" : "\u0041","b":-0,` + own[len(`"_meta":{`):] + ` , "c":1}`},
				{`{"_meta":{` + protocols + `,"a":1,"progressToken":"x","a":2}}`, `{"_meta":{"a":1,"a":2}}`,
					`{"_meta":{"a":1,"a":2,` + own[len(`"_meta":{`):] + `}`},
				{`{"_meta":{"progress\u0054oken":"x"}}`, `{"_meta":{}}`, `{` + own + `}`},
				{`{"_meta":{` + level + `}}`, `{"_meta":{}}`, `{"_meta":{` + level + `,` + own[len(`"_meta":{`):] + `}`},
				{"{\n\"a\"\r\n:1}", `{"a":1}`, `{"a":1,` + own + `}`},
			} {
				r := Relay{Method: "x"}
				if test.params != "" {
					r.Params = json.RawMessage(test.params)
				}
				if _, err := s.Relay(t.Context(), &r); err != nil {
					t.Errorf("%s, %s: %v", era, test.params, err)
					continue
				}
				want, sent := test.legacy, d.process(0).find("x")
				if era == mcp.Modern {
					want = test.modern
				}
				if got := string(sent[len(sent)-1].Params); got != want {
					t.Errorf("%s, %s: sent %s, want %s", era, test.params, got, want)
				}
			}
			for _, bad := range []string{`[]`, `{`, `7`, `{"\ud800":1}`, `{"_meta":{},"_m\u0065ta":{}}`} {
				_, err := s.Relay(t.Context(), &Relay{Method: "x", Params: json.RawMessage(bad)})
				if !errors.Is(err, rpc.ErrParams) || !errors.Is(err, rpc.ErrNotSent) {
					t.Errorf("%s, %s: %v", era, bad, err)
				}
			}
			level := WithOptions(t.Context(), RequestOptions{Level: mcp.LevelError})
			s.Relay(level, &Relay{Method: "x", Params: json.RawMessage(`{"_meta":{"io.modelcontextprotocol/logLevel":"debug"}}`)})
			if got := metaOf(d.process(0), "x")[mcp.MetaLogLevel]; era == mcp.Modern && string(got) != `"error"` {
				t.Errorf("the level is %s", got)
			}
		})
	}
}

// TestRelayComesAfterWhatWasBefore holds that the session hears what a server says before its
// answer before Relay returns the answer, and that a server that goes on talking delays it no more.
func TestRelayComesAfterWhatWasBefore(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		say := func(p *process, _ message) { note(p, "notifications/message", `{"level":"info","data":1}`) }
		d := launcher(oldServer().with("x", both(say, say, say, answer(`{}`), func(p *process, m message) {
			go func() {
				for range 1000 {
					say(p, m)
					time.Sleep(time.Second)
				}
			}()
		})))
		var heard atomic.Int32
		s := d.open(func(c *setup) {
			c.Notify = func(string, json.RawMessage, uint64) { time.Sleep(time.Second); heard.Add(1) }
		})
		began := time.Now()
		if _, err := s.Relay(t.Context(), &Relay{Method: "x"}); err != nil {
			t.Fatal(err)
		}
		if n := heard.Load(); n < 3 || time.Since(began) > time.Minute {
			t.Errorf("heard %d before the answer, after %v", n, time.Since(began))
		}
		s.Close()
		time.Sleep(time.Hour)
	})
}

// TestRelayedPages has a legacy server refuse a request until the person has been to a page, and
// the client of a relayed request show it, which has no other callback.
func TestRelayedPages(t *testing.T) {
	const page = `{"mode":"url", "url":"https://a.example/1","elicitationId":"1","message":"go","x":1e400}`
	for action, want := range map[string]string{`{"action":"accept"}`: "", `{"action":"decline"}`: "did not go", "": "no screen"} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(oldServer().with("tools/call", inTurns(sends(page), answer(echoResult))))
			var asked string
			s := d.open(func(c *setup) {
				c.Config.Capabilities = map[string]json.RawMessage{"elicitation": json.RawMessage(`{"url":{}}`)}
				c.Other = func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
					if asked = method + string(params); action == "" {
						return nil, &rpc.Error{Code: -1, Message: "no screen"}
					}
					return json.RawMessage(action), nil
				}
			})
			_, err := s.Relay(t.Context(), &Relay{Method: "tools/call", Fulfil: true})
			if (err == nil) != (want == "") || asked != "elicitation/create"+page {
				t.Errorf("%s: asked %s, %v", action, asked, err)
			}
			if err != nil && (!strings.Contains(err.Error(), want) || codeOf(err) != mcp.CodeURLElicitationRequired) {
				t.Errorf("%s: %v", action, err)
			}
			if _, err := s.Relay(t.Context(), &Relay{Method: "tools/call"}); err != nil {
				t.Errorf("%s: %v", action, err)
			}
		})
	}
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer().with("tools/call", sends(page)))
		s := d.open(func(c *setup) { c.Elicit = (&guide{does: mcp.ElicitAccept}).elicit })
		if _, err := s.Relay(t.Context(), &Relay{Method: "tools/call"}); codeOf(err) != mcp.CodeURLElicitationRequired || errors.Is(err, ErrInputRequired) {
			t.Errorf("without Fulfil: %v", err)
		}
	})
}
