package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// gatewayClient is a client of a gateway, in lines of JSON, that makes one request after the other.
type gatewayClient struct {
	t     *testing.T
	conn  net.Conn
	lines chan string
	meta  string // in each request of a modern client
	last  int
}

func newGatewayClient(t *testing.T, g *gateway.Gateway, era string) *gatewayClient {
	ours, theirs := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- g.ServeConn(context.Background(), theirs) }()
	c := &gatewayClient{t: t, conn: ours, lines: make(chan string, 10)}
	go func() {
		defer close(c.lines)
		for in := bufio.NewReader(ours); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if strings.Contains(line, `"id":`) { // a server may notify without end
				c.lines <- line
			}
		}
	}()
	t.Cleanup(func() {
		ours.Close()
		for range c.lines {
		}
		<-served
	})
	if era == "modern" {
		c.meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"editor","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		return c
	}
	c.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"editor","version":"1"}}`, time.Hour)
	fmt.Fprintln(ours, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// ask returns the answer to a request. It cancels the request after patience, and then returns "".
func (c *gatewayClient) ask(method, params string, patience time.Duration) string {
	c.t.Helper()
	c.last++
	if c.meta != "" {
		params = strings.Replace(params, "{", "{"+c.meta+",", 1)
	}
	fmt.Fprintf(c.conn, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.last, method, params)
	late := time.After(patience)
	for {
		select {
		case line, more := <-c.lines:
			if !more {
				c.t.Fatal("the gateway has ended the connection")
			}
			var m struct{ ID json.Number }
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				c.t.Fatalf("the gateway sent %.200q: %v", line, err)
			}
			if m.ID.String() == fmt.Sprint(c.last) {
				return line
			}
		case <-late:
			fmt.Fprintf(c.conn, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", c.last)
			return ""
		}
	}
}

// echo fails unless the server is as it should be.
func (c *gatewayClient) echo(prefix string) {
	c.t.Helper()
	if got := c.ask("tools/call", `{"name":"`+prefix+`echo","arguments":{"message":"hello"}}`, time.Hour); !strings.Contains(got, `"text":"hello"`) {
		c.t.Errorf("echo said %.300s", got)
	}
}

// badAnswers are what a client gets of tools of the raw server; "" is that of an answer that never comes.
// What has the form of a result passes, whatever is in it.
var badAnswers = map[string]string{
	"wrong_id":     "",
	"null_id":      "",
	"pretty_lines": "",
	"text_id":      "changed the id's type",
	"float_id":     "changed the id's type",
	"both":         "malformed",
	"neither":      "malformed",
	"no_version":   "malformed",
	"old_version":  "malformed",
	"other_case":   "malformed",
	"twice_a_key":  "malformed",
	"bad_utf-8":    "malformed",
	"surrogate":    "malformed",
	"nul":          "malformed",
	"cut_short":    "malformed",
	"odd_error":    "malformed",
	"odd_result":   `"result":[1,2,3]`,
	"rubbish":      "not a JSON object, 100 times in a row",
	"dies":         "exit status 7",
	"no_tool":      `"error":{"code":-32602,"message":"unknown tool"}`,
	"half_emoji":   "cut ",
	"garbage":      "still here",
	"twice":        "first",
}

// badFloods are badAnswers of many megabytes or messages.
var badFloods = map[string]string{
	"long":      "larger than the message cap",
	"strangers": "done",
	"notes":     "done",
	"stderr":    "done",
	"deep":      "malformed",
}

// A bad answer that comes through a gateway spoils its own call, as it does without one: neither its
// client's next call, nor another client, nor another server notices.
func TestBadAnswersThroughAGateway(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{Timeout: time.Hour})
	answers := maps.Clone(badAnswers)
	if testenv.Long() {
		maps.Copy(answers, badFloods)
	}
	healthy := server("modern")
	healthy.Name = "healthy"
	for n, era := range []string{"modern", "legacy", "modern", "legacy"} {
		for _, bare := range []bool{true, false} {
			speaks := []string{"legacy", "modern"}[n/2] // the clients
			entries, prefix := []host.Server{server(era), healthy}, era+"__"
			if bare {
				entries, prefix = entries[:1], ""
			}
			g, err := gateway.New(h, gateway.Config{Servers: entries, Bare: bare})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { g.Close() })
			c, other := newGatewayClient(t, g, speaks), newGatewayClient(t, g, speaks)
			for tool, want := range testenv.Part(answers, 4) {
				what := fmt.Sprintf("%s of %s to %s, bare %v", tool, era, speaks, bare)
				patience := time.Hour
				if want == "" {
					patience = short
				}
				got := c.ask("tools/call", `{"name":"`+prefix+tool+`","arguments":{}}`, patience)
				switch failed := strings.Contains(got, `"code":-32603`); {
				case !strings.Contains(got, want), want == "" && got != "":
					t.Errorf("%s: %.300s does not say %q", what, got, want)
				case failed && !strings.Contains(got, era):
					t.Errorf("%s: %.300s does not name its server", what, got)
				}
				c.echo(prefix)
				other.echo(prefix)
				if !bare {
					other.echo("healthy__")
				}
			}
		}
	}
}

// Servers that do not start, answer nothing, read nothing or write without end leave a client of all
// servers those that are well, and a call to one of them names it.
func TestHostileServersBehindAnAggregate(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{Timeout: time.Hour})
	healthy, endless := server("sdk"), server("endless")
	endless.MessageCap = 1 << 20
	g, err := gateway.New(h, gateway.Config{ListWait: short, Servers: []host.Server{server("exits"), server("silent"), server("deaf"), endless, healthy}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	c, other := newGatewayClient(t, g, "legacy"), newGatewayClient(t, g, "modern")
	list := ""
	for !strings.Contains(list, `"sdk__echo"`) { // again on a slow machine, where the server starts later
		list = c.ask("tools/list", `{}`, time.Hour)
	}
	if strings.Contains(list, `"wharf/server":"exits"`) {
		t.Errorf("listed is %.300s", list)
	}
	for _, tt := range []struct{ tool, want string }{
		{"exits__x", "no database at this address"}, {"silent__x", ""}, {"deaf__x", ""}, {"endless__x", "without end"},
	} {
		patience := time.Hour
		if tt.want == "" {
			patience = short
		}
		got := c.ask("tools/call", `{"name":"`+tt.tool+`","arguments":{}}`, patience)
		if name, _, _ := strings.Cut(tt.tool, "__"); got != "" && (!strings.Contains(got, tt.want) || !strings.Contains(got, name)) || got == "" && tt.want != "" {
			t.Errorf("%s: %.300s", tt.tool, got)
		}
		c.echo("sdk__")
		other.echo("sdk__")
	}
}
