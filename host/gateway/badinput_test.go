package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func cancelled(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
}

// A client over HTTP cancels its initialize by leaving, because it has no session yet to say so in. What it
// cancels that is not under way changes nothing.
func TestOddCancellationsOverHTTP(t *testing.T) {
	s := newSite(t, legacy)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		r, _ := http.NewRequestWithContext(ctx, "POST", s.url, strings.NewReader(initialize("0", legacy, `{}`)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		_, err := s.client.Do(r)
		left <- err
	}()
	srv := s.server()
	srv.read()
	if a := s.post(cancelled("0")); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a cancellation without a session: %d", a.StatusCode)
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for range srv.lines { // until the server is left
	}

	session, srv := s.open(legacy, `{}`)
	for _, id := range []string{"0", "7", `"x"`, "null", "{}", `"0"`} {
		s.post(cancelled(id), session).want(202, "")
	}
	go func() {
		srv.want(`{"jsonrpc":"2.0","id":$a,"method":"x/own"}`) // and nothing before
		srv.send(`{"jsonrpc":"2.0","id":$a,"result":{}}`)
	}()
	s.post(`{"jsonrpc":"2.0","id":7,"method":"x/own"}`, session).want(200, `{"jsonrpc":"2.0","id":7,"result":{}}`)
}

// An answer over HTTP that was not asked for, of another client, or given twice, reaches no server.
func TestOddAnswersOverHTTP(t *testing.T) {
	s := newSite(t, legacy)
	other, _ := s.open(legacy, `{"sampling":{}}`)
	delete(s.vars, "hello")
	session, srv := s.open(legacy, `{"sampling":{}}`)
	answer := func(id, by string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{"by":"` + by + `"}}` }
	s.post(answer("99", "guess"), session).want(202, "")
	l := s.do(t.Context(), "GET", "", session)
	l.events("0-0")
	srv.send(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage"}`)
	asked := l.event()
	_, id, _ := strings.Cut(asked, `"id":`)
	id, _, _ = strings.Cut(id, ",")
	for _, odd := range []string{answer("99", "guess"), `{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"no"}}`} {
		s.post(odd, session).want(202, "")
	}
	s.post(answer(id, "other"), other).want(202, "")
	for _, by := range []string{"me", "again"} {
		s.post(answer(id, by), session).want(202, "")
	}
	srv.want(`{"jsonrpc":"2.0","id":"q","result":{"by":"me"}}`)
	go func() {
		srv.want(`{"jsonrpc":"2.0","id":$a,"method":"x/own"}`) // and nothing before
		srv.send(`{"jsonrpc":"2.0","id":$a,"result":{}}`)
	}()
	s.post(`{"jsonrpc":"2.0","id":1,"method":"x/own"}`, session).want(200, `{"jsonrpc":"2.0","id":1,"result":{}}`)
}

// What a client of all servers as one sends before initialize, and a second initialize, are refused, and
// start no server.
func TestBeginningsOfTheAggregate(t *testing.T) {
	p := newPair(t, legacy, legacy)
	files, notes := p.play(p.servers, "files", legacy, toolOne, ""), p.play(p.notes, "notes", legacy, toolOne, "")
	c := p.client()
	refused := func(id, why string) { c.want(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":` + why + `"}}`) }
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	refused("1", `-32600,"message":"tools/list came before initialize: send initialize first, or io.modelcontextprotocol/protocolVersion 2026-07-28 in the _meta of each request`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":7}}`)
	refused("2", `-32602,"message":"initialize: params.protocolVersion is not a string`)
	c.send(toolCall("3", "files__one", ""))
	refused("3", `-32600,"message":"tools/call came before initialize was answered`)
	for _, f := range []*fake{files, notes} {
		f.mu.Lock()
		if f.starts > 0 {
			t.Errorf("%s was started", f.name)
		}
		f.mu.Unlock()
	}
	c.send(initialize("4", legacy, `{}`), initialize("5", "2025-03-26", `{"roots":{}}`))
	for range 2 { // in either order
		switch line := c.read(); {
		case strings.Contains(line, `"id":4,"result":{"protocolVersion":"2025-11-25"`):
		case line == `{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"initialize was sent before on this connection"}}`:
		default:
			t.Errorf("the client got %s", line)
		}
	}
	c.send(initialized, initialize("6", legacy, `{}`))
	refused("6", `-32600,"message":"initialize was sent before on this connection`)
	c.send(toolCall("7", "files__one", ""))
	if line := c.read(); !strings.Contains(line, `files got`) {
		t.Errorf("a call: %s", line)
	}
}

// A client of all servers as one that vanishes while a server reports progress without end costs that
// server its connection, and no other client notices.
func TestClientOfTheAggregateVanishes(t *testing.T) {
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) {
			p := newPair(t, era, era)
			p.play(p.notes, "notes", era, toolOne, "")
			c, other := p.speaker(era), p.speaker(era)
			other.contains("tools/call", `{"name":"notes__one"}`, `notes got`)
			meta := `"_meta":{"progressToken":"p"}`
			if era == modern {
				meta = modernMeta(`{}`, `,"progressToken":"p"`)
			}
			c.send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"files__one",` + meta + `}}`)
			srv := p.server()
			srv.answerHandshake(era)
			line := srv.read()
			for !strings.Contains(line, `"tools/call"`) {
				line = srv.read()
			}
			_, token, _ := strings.Cut(line, `"progressToken":`)
			token = token[:strings.IndexAny(token, ",}")]
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for n := 0; ; n++ {
					if _, err := fmt.Fprintf(srv.conn, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`+"\n", token, n); err != nil {
						return
					}
				}
			}()
			c.hears(mcp.NotificationProgress, `"progressToken":"p"`)
			c.conn.Close()
			<-ended
			other.contains("tools/call", `{"name":"notes__one"}`, `notes got`)
		})
	}
}

// A server behind the aggregate that asks when no call is open reaches a legacy client at once, and a
// modern one in its next call to that server.
func TestAggregateIsAskedWithoutACall(t *testing.T) {
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) {
			p := newPair(t, legacy, legacy)
			p.play(p.notes, "notes", legacy, toolOne, "")
			c := p.speaker(era)
			c.ask("tools/call", `{"name":"files__one"}`)
			srv := p.server()
			srv.greet(legacy)
			call := func() {
				srv.want(`{"jsonrpc":"2.0","id":$call,"method":"tools/call","params":{"name":"one"}}`)
			}
			call()
			srv.send(`{"jsonrpc":"2.0","id":$call,"result":{"content":[]}}`)
			c.hears(`"content":[]`)
			delete(p.vars, "call")
			srv.send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}}`)
			if era == legacy {
				c.hears(`"method":"elicitation/create","params":{"message":"who?"`)
				_, id, _ := strings.Cut(c.last, `"id":`)
				id, _, _ = strings.Cut(id, ",")
				c.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"decline"}}`)
				srv.want(`{"jsonrpc":"2.0","id":"q","result":{"action":"decline"}}`)
				return
			}
			c.contains("tools/call", `{"name":"notes__one"}`, `"resultType":"complete"`, `notes got`) // which is not asked
			c.ask("tools/call", `{"name":"files__one"}`)
			call()
			c.hears(`"resultType":"input_required"`, `"inputRequests":{"`, `"method":"elicitation/create","params":{"message":"who?"`, `"requestState":"`)
			_, key, _ := strings.Cut(c.last, `"inputRequests":{"`)
			key, rest, _ := strings.Cut(key, `"`)
			_, state, _ := strings.Cut(rest, `"requestState":"`)
			state, _, _ = strings.Cut(state, `"`)
			c.ask("tools/call", `{"name":"files__one","inputResponses":{"`+key+`":{"action":"decline"}},"requestState":"`+state+`"}`)
			srv.want(`{"jsonrpc":"2.0","id":"q","result":{"action":"decline"}}`)
			srv.send(`{"jsonrpc":"2.0","id":$call,"result":{"content":[]}}`)
			c.hears(`"content":[]`)
		})
	}
}

// Progress of a request that has been answered reaches no client.
func TestProgressAfterTheAnswer(t *testing.T) {
	late := func(n int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$token,"progress":%d}}`, n)
	}
	for _, server := range []string{legacy, modern} {
		for _, era := range []string{legacy, modern} {
			t.Run(era+" to "+server, func(t *testing.T) {
				s := newScene(t, server)
				c := s.client()
				begin, meta := initialize("0", legacy, `{}`), `"_meta":{"progressToken":"p"}`
				if era == modern {
					begin, meta = `{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{`+modernMeta(`{}`, "")+`}}`, modernMeta(`{}`, `,"progressToken":"p"`)
				}
				c.send(begin)
				srv := s.server()
				srv.greetAs(server)
				c.read()
				for n := range 2 {
					c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t",%s}}`, n+1, meta))
					line := srv.read()
					for !strings.Contains(line, `"tools/call"`) {
						line = srv.read()
					}
					if n > 0 { // of the first call, while the second is open
						srv.send(late(2))
					}
					s.vars["token"] = between(line, `"progressToken":`, ",}")
					srv.send(late(1), `{"jsonrpc":"2.0","id":`+between(line, `"id":`, ",}")+`,"result":{"resultType":"complete"}}`)
					c.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}`,
						fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete"}}`, n+1))
					srv.send(late(3))
				}
			})
		}
	}
	t.Run("HTTP", func(t *testing.T) {
		s := newSite(t, legacy)
		session, srv := s.open(legacy, `{}`)
		l := s.do(t.Context(), "GET", "", session)
		l.events("0-0")
		a, leave := s.begun(srv, session)
		defer leave()
		a.events("3-0", "3-1 "+progressed)
		srv.send(`{"jsonrpc":"2.0","id":$a,"result":{}}`)
		a.events(`3-2 {"jsonrpc":"2.0","id":"a-1","result":{}}`, "")
		srv.send(late(2), listChanged)
		l.events(`0-1 ` + listChanged)
	})
}

// between returns what stands behind a text, up to one of some letters.
func between(line, text, ends string) string {
	_, rest, _ := strings.Cut(line, text)
	return rest[:max(strings.IndexAny(rest, ends), 0)]
}

// All servers as one have the serverInfo of the program, and an error names the revision that the
// client speaks.
func TestAggregateSpeaksForTheProgram(t *testing.T) {
	p := newPair(t, legacy, legacy, func(_ *host.Config, gc *gateway.Config) { gc.Info.Version = "9.1" })
	c := p.client()
	c.send(initialize("1", "2025-06-18", `{}`))
	if line := c.read(); !strings.Contains(line, `"serverInfo":{"name":"wharf","version":"9.1"}`) {
		t.Errorf("initialize: %s", line)
	}
	c.send(initialized, `{"jsonrpc":"2.0","id":2,"method":"server/discover"}`)
	c.want(`{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found: server/discover is not in protocol 2025-06-18"}}`)
}
