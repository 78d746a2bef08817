package host_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

func init() { servers["generator"] = serveGenerated }

const (
	relaySeed  = 15
	relayCases = 10_000
)

// generated is one case of TestRelayKeepsBytes: what is sent, and what is answered.
type generated struct{ params, result, fault string }

// generate returns case n, the same in the test and in its server.
func generate(n int) generated {
	g := generator{rand.New(rand.NewPCG(relaySeed, uint64(n)))}
	c := generated{params: fmt.Sprintf(`{"n":%d,"value":%s%s}`, n, g.space(), g.value(6))}
	if g.IntN(4) == 0 {
		c.fault = g.fault()
		return c
	}
	c.result = g.object(8)
	switch n % 100 {
	case 0: // as deep as a message may be, whose own braces are one level
		const levels = strictjson.DefaultDepth - 1
		c.result = strings.Repeat(`{"a":[`, levels/2) + "[1e400]" + strings.Repeat(`]}`, levels/2)
	case 1:
		c.result = g.value(3)
	}
	return c
}

// generator writes JSON that few types of Go could hold.
type generator struct{ *rand.Rand }

func (g generator) space() string { return []string{"", "", "", " ", "\t ", "  "}[g.IntN(6)] }

func (g generator) one(of ...string) string { return of[g.IntN(len(of))] }

func (g generator) number() string {
	return g.one("0", "-0", "1e400", "-1E+400", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "0.10", "1.0",
		"5e-324", "1e-999999", "0.1000000000000000055511151231257827", strconv.FormatUint(g.Uint64(), 10), strings.Repeat("9", 1+g.IntN(400)))
}

func (g generator) text() string {
	var b strings.Builder
	for range g.IntN(6) {
		b.WriteString(g.one(`a`, `A`, `\u0041`, `\/`, `/`, `\"`, `\\`, `\b\f\n\r\t`, `\u0000`, `é`, `\u00e9`, "\u2028", `\u2028`, `<`, `\u003c`,
			`😀`, `\ud83d\uDE00`, "\u007f", strings.Repeat("x", g.IntN(300)), `}`, `,`, `{`))
	}
	return `"` + b.String() + `"`
}

func (g generator) value(depth int) string {
	switch g.IntN(8) {
	case 0, 1:
		return g.number()
	case 2, 3:
		return g.text()
	case 4:
		return g.one("true", "false", "null", "{}", "[]", "{ }", "[\t]")
	}
	if depth == 0 {
		return g.number()
	}
	if g.IntN(2) == 0 {
		return g.object(depth - 1)
	}
	parts := make([]string, g.IntN(4))
	for i := range parts {
		parts[i] = g.space() + g.value(depth-1) + g.space()
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// object has names of the protocol among others, some of them twice.
func (g generator) object(depth int) string {
	parts := make([]string, g.IntN(6))
	for i := range parts {
		name := g.one(`"content"`, `"structuredContent"`, `"isError"`, `"a"`, `"a"`, `"\u0061"`, `"result"`, `"id"`, `"__proto__"`, `""`, g.text())
		parts[i] = g.space() + name + g.space() + ":" + g.space() + g.value(depth-1) + g.space()
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (g generator) fault() string {
	parts := []string{`"code":` + g.one("-32000", "-32602", "0", "7", "2147483648"), `"message":` + g.space() + g.text()}
	for range g.IntN(3) {
		parts = append(parts, g.one(`"data"`, `"d\u0061ta"`, `"more"`)+":"+g.value(5))
	}
	g.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return "{" + g.space() + strings.Join(parts, g.space()+","+g.space()) + "}"
}

// serveGenerated is a server of both eras without a library that compares the params of each
// case with what they should be, and answers with what is generated for it.
func serveGenerated() {
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriterSize(os.Stdout, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				N    int
				Meta json.RawMessage `json:"_meta"`
			}
		}
		if json.Unmarshal([]byte(line), &m); m.ID == nil {
			continue
		}
		answer := `"error":{"code":-32601,"message":"no such method"}`
		switch m.Method {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"raw","version":"1"}}`
		case "server/discover":
			answer = `"result":{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete"}`
		case "x/generated":
			c := generate(m.Params.N)
			params := c.params
			if m.Params.Meta != nil {
				params = strings.TrimSuffix(params, "}") + `,"_meta":` + string(m.Params.Meta) + "}"
			}
			switch {
			case !strings.HasSuffix(line, `"params":`+params+"}\n"):
				answer = `"error":{"code":1,"message":"other params than were sent"}`
			case c.fault != "":
				answer = `"error":` + c.fault
			default:
				answer = `"result":` + c.result
			}
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, answer)
		out.Flush()
	}
}

// TestRelayKeepsBytes relays generated params to a server over stdio and compares what it answers,
// a result or an error, byte for byte.
func TestRelayKeepsBytes(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"legacy", "2026-07-28"} {
		t.Run(protocol, func(t *testing.T) {
			entry := server("generator")
			entry.Protocol = protocol
			s := connect(t, newHost(t, host.Config{}), entry)
			faults := 0
			for n := range relayCases {
				c := generate(n)
				result, err := s.Relay(t.Context(), host.Relay{Method: "x/generated", Params: json.RawMessage(c.params)})
				got, want := string(result), c.result
				if c.fault != "" {
					faults++
					var no *host.RPCError
					if !errors.As(err, &no) {
						t.Fatalf("case %d: %v, want the error %s", n, err, c.fault)
					}
					got, want, err = string(no.Raw), c.fault, nil
				}
				if err != nil || got != want {
					t.Fatalf("case %d, sent %s:\ngot  %s, %v\nwant %s", n, c.params, got, err, want)
				}
			}
			if faults < relayCases/5 {
				t.Errorf("%d errors in %d cases", faults, relayCases)
			}
		})
	}
}

// TestBarePathKeepsBytes sends the same cases to the same server, as a client of a gateway before it,
// and compares whole messages.
func TestBarePathKeepsBytes(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"legacy", "2026-07-28"} {
		t.Run(protocol, func(t *testing.T) {
			entry := server("generator")
			entry.Protocol = protocol
			g, err := gateway.New(newHost(t, host.Config{}), gateway.Config{Servers: []host.Server{entry}, Bare: true})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			ours, theirs := net.Pipe()
			defer theirs.Close()
			go g.ServeConn(t.Context(), ours)
			answers := bufio.NewReaderSize(theirs, 1<<20)
			send := func(id, method, params string) string {
				fmt.Fprintf(theirs, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id, method, params)
				answer, err := answers.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				return answer
			}
			meta := ""
			if protocol == "legacy" {
				send(`"i"`, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
			} else {
				meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},` +
					`"io.modelcontextprotocol/clientCapabilities":{}}`
			}
			for n := range relayCases {
				c := generate(n)
				want := `"result":` + c.result
				if c.fault != "" {
					want = `"error":` + c.fault
				}
				want = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`+"\n", n, want)
				params := strings.TrimSuffix(c.params, "}") + meta + "}"
				if got := send(strconv.Itoa(n), "x/generated", params); got != want {
					t.Fatalf("case %d, sent %s:\ngot  %swant %s", n, params, got, want)
				}
			}
		})
	}
}
