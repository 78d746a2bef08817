package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

const pages = `{"code":-32042,"message":"visit","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://x/1","message":"go"}]}}`

// A refusal that wants pages to be visited reaches a legacy client as it is. A modern client is
// asked for them, and then the server gets the request again.
func TestPagesOfALegacyServer(t *testing.T) {
	s := newScene(t, legacy)
	c := s.client()
	c.send(initialize("0", legacy, `{"elicitation":{"url":{}}}`))
	srv := s.server()
	srv.greetAs(legacy)
	c.read()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`)
	srv.want(`{"jsonrpc":"2.0","id":$a,"method":"tools/call","params":{"name":"t"}}`)
	srv.send(`{"jsonrpc":"2.0","id":$a,"error":` + pages + `}`)
	c.want(`{"jsonrpc":"2.0","id":1,"error":` + pages + `}`)

	s = newScene(t, legacy)
	c = s.client()
	meta := modernMeta(`{"elicitation":{"url":{}}}`, "")
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",` + meta + `}}`)
	srv = s.server()
	srv.greetAs(legacy)
	srv.want(`{"jsonrpc":"2.0","id":$a,"method":"tools/call","params":{"name":"t"}}`)
	srv.send(`{"jsonrpc":"2.0","id":$a,"error":` + pages + `}`)
	c.want(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"$k":{"method":"elicitation/create","params":{"mode":"url","elicitationId":"e","url":"https://x/1","message":"go"}}},"requestState":"$state"}}`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t",` + meta + `,"inputResponses":{"$k":{"action":"accept"}},"requestState":"$state"}}`)
	srv.send(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e"}}`)
	srv.want(`{"jsonrpc":"2.0","id":$b,"method":"tools/call","params":{"name":"t"}}`)
	srv.send(`{"jsonrpc":"2.0","id":$b,"result":{"content":[]}}`)
	c.want(`{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}`)
}

// Calls that wait for a client, and questions that wait for a call, are few.
func TestDeskIsBounded(t *testing.T) {
	s := newScene(t, legacy)
	c := s.client()
	meta := modernMeta(`{"sampling":{}}`, "")
	c.send(`{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{` + meta + `}}`)
	srv := s.server()
	srv.greetAs(legacy)
	c.read()
	question := func(n int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":"sampling/createMessage","params":{}}`, n)
	}
	for n := range 33 {
		srv.send(question(n))
	}
	if got := srv.read(); !strings.Contains(got, `"error":{"code":-32603,"message":"no request of the client is open in which it could be asked"}`) {
		t.Errorf("one question too many: %s", got)
	}
	for n := range 33 { // the first takes the questions that wait
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t",%s}}`, n+1, meta))
		srv.read()
		if n > 0 {
			srv.send(question(100 + n))
		}
		got := c.read()
		if n < 32 && !strings.Contains(got, `"input_required"`) || n == 32 && !strings.Contains(got, `"message":"32 requests of this client wait for its answers, which is the most"`) {
			t.Fatalf("call %d: %s", n, got)
		}
	}
	srv.wantAny(`{"jsonrpc":"2.0","id":"q132","error":{"code":-32603,"message":"32 requests of this client wait for its answers, which is the most"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$a,"reason":"32 requests of this client wait for its answers, which is the most"}}`)
}

// A client subscribes to so many resources, once each, and to another when it has given one up.
func TestSubscriptionsAreBounded(t *testing.T) {
	s := newScene(t, legacy)
	c := s.client()
	c.send(initialize("0", legacy, `{}`))
	srv := s.server()
	srv.greetAs(legacy)
	c.read()
	subscribe := func(n int) (answer string) {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:%d"}}`, n))
		clear(srv.vars)
		srv.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":$a,"method":"resources/subscribe","params":{"uri":"a:%d"}}`, n))
		srv.send(`{"jsonrpc":"2.0","id":$a,"result":{}}`)
		return c.read()
	}
	const good, most = `{"jsonrpc":"2.0","id":1,"result":{}}`, 1000
	for n := range most {
		if got := subscribe(n); got != good {
			t.Fatalf("%d: %s", n, got)
		}
	}
	if got := subscribe(most); !strings.Contains(got, "the client has subscribed to 1000 resources, which is the most") {
		t.Errorf("one more: %s", got)
	}
	unsubscribed := func(n int) {
		clear(srv.vars)
		srv.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":$u,"method":"resources/unsubscribe","params":{"uri":"a:%d"}}`, n))
		srv.send(`{"jsonrpc":"2.0","id":$u,"result":{}}`)
	}
	unsubscribed(most)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":"a:7"}}`)
	c.want(good)
	unsubscribed(7)
	if got := subscribe(most); got != good {
		t.Errorf("in its place: %s", got)
	}
}

// Two clients of either era on one server ask, are asked, hear progress and cancel at the same time,
// and each gets what is its own.
func TestClientsDoNotMix(t *testing.T) {
	rounds := 50
	if testenv.Long() {
		rounds = 25_000
	}
	for _, server := range []string{legacy, modern} {
		t.Run(server, func(t *testing.T) {
			s := newScene(t, server)
			var all sync.WaitGroup
			for i, era := range []string{legacy, modern, legacy, modern} {
				c := s.client()
				c.vars = map[string]string{}
				meta := ""
				if era == modern {
					meta = modernMeta(`{"sampling":{}}`, "") + ","
					c.send(`{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{` + modernMeta(`{"sampling":{}}`, "") + `}}`)
				} else {
					c.send(initialize("0", legacy, `{"sampling":{}}`))
				}
				srv := s.server()
				srv.vars = map[string]string{}
				srv.greetAs(server)
				c.read()
				if era == legacy && server == modern { // it listens, and would give up while the rounds go on
					listen, _, _ := strings.Cut(strings.TrimPrefix(srv.read(), `{"jsonrpc":"2.0","id":`), ",")
					srv.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + listen + `},"notifications":{"toolsListChanged":true}}}`)
				}
				all.Go(func() { mingle(c, srv, era, server, meta, fmt.Sprintf("c%d", i), rounds) })
			}
			all.Wait()
		})
	}
}

// mingle plays a client and the server's end of its session: each call asks once, with the name of
// the client in every part.
func mingle(c, srv *end, era, server, meta, name string, rounds int) {
	for n := range rounds {
		me := fmt.Sprintf("%s-%d", name, n)
		call := func(id, more string) string {
			return `{"jsonrpc":"2.0","id":"` + id + `","method":"tools/call","params":{` + meta + `"name":"` + me + `"` + more + `}}`
		}
		clear(srv.vars)
		clear(c.vars)
		c.send(call(me, ""))
		line := srv.read()
		id := line[len(`{"jsonrpc":"2.0","id":`):strings.Index(line, `,"method"`)]
		if !strings.Contains(line, `"name":"`+me+`"`) {
			c.t.Errorf("%s: the server got %s", me, line)
			return
		}
		question := `"method":"sampling/createMessage","params":{"of":"` + me + `"}`
		if server == legacy {
			srv.send(`{"jsonrpc":"2.0","id":"` + me + `",` + question + `}`)
		} else {
			srv.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"input_required","inputRequests":{"k":{` + question + `}}}}`)
		}
		asked := c.read()
		if !strings.Contains(asked, `"of":"`+me+`"`) {
			c.t.Errorf("%s: the client was asked %s", me, asked)
			return
		}
		answer := `{"by":"` + me + `"}`
		if era == legacy {
			c.send(`{"jsonrpc":"2.0","id":` + asked[len(`{"jsonrpc":"2.0","id":`):strings.Index(asked, `,"method"`)] + `,"result":` + answer + `}`)
		} else {
			key, _, _ := strings.Cut(asked[strings.Index(asked, `"inputRequests":{"`)+len(`"inputRequests":{"`):], `"`)
			more := `,"inputResponses":{"` + key + `":` + answer + `}`
			if _, state, ok := strings.Cut(asked, `"requestState":"`); ok {
				more += `,"requestState":"` + strings.TrimSuffix(state, `"}}`) + `"`
			}
			c.send(call(me+"'", more))
		}
		line = srv.read()
		if !strings.Contains(line, answer) {
			c.t.Errorf("%s: the server was answered %s", me, line)
			return
		}
		if server == modern {
			id = line[len(`{"jsonrpc":"2.0","id":`):strings.Index(line, `,"method"`)]
		}
		srv.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"of":"` + me + `"}}`)
		if line = c.read(); !strings.Contains(line, `"of":"`+me+`"`) || !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":"`+me) {
			c.t.Errorf("%s: the client got %s", me, line)
			return
		}
	}
}

// A gateway that cannot serve says why, and a closed one serves nobody.
func TestGatewayEnds(t *testing.T) {
	s := newScene(t, legacy, func(_ *host.Config, g *gateway.Config) { g.Transport = "pigeon" })
	ours, _ := testenv.NewDuplex()
	if err := s.gateway.ServeConn(context.Background(), ours); !errors.Is(err, host.ErrUnknownTransport) {
		t.Errorf("an unknown transport: %v", err)
	}
	s = newScene(t, legacy)
	c, srv := parked(t, s)
	if err := s.gateway.Close(); err != nil {
		t.Error(err)
	}
	for range c.lines {
	}
	for range srv.lines {
	}
	ours, theirs := testenv.NewDuplex()
	if err := s.gateway.ServeConn(context.Background(), ours); err != gateway.ErrClosed {
		t.Errorf("a closed gateway: %v", err)
	}
	if _, err := theirs.Read(make([]byte, 1)); err == nil {
		t.Error("the stream is open")
	}
	two := []host.Server{{Name: "a"}, {Name: "b"}}
	for _, c := range []gateway.Config{{Bare: true}, {Bare: true, Servers: two}, {Servers: []host.Server{{}}}, {Search: "always"}, {Servers: append(two, two[0])}} {
		if _, err := gateway.New(s.host, c); err == nil {
			t.Errorf("%+v: a gateway", c)
		}
	}
}
