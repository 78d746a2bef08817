package gateway_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What a client is told of a call that ends with the gateway, and of one that comes too late.
const (
	cancelledByEnd = `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the gateway is ending; the server may have acted on the request","data":{"kind":"unreachable","maybeSent":true,"ending":true}}}`
	refusedByEnd   = `{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"the gateway is ending","data":{"kind":"unreachable","ending":true}}}`
)

// A call that is under way when the gateway is closed is answered, to clients of both eras, and on a stream as
// over HTTP.
func TestEndAnswersCalls(t *testing.T) {
	cancelledLegacy := strings.Replace(cancelledByEnd, `"id":1`, `"id":"a-1"`, 1)
	modernCall := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",` + modernMeta(`{}`, "") + `}}`
	t.Run("stream, legacy", func(t *testing.T) {
		s := newScene(t, legacy)
		c := s.client()
		c.send(initialize("0", legacy, `{}`))
		srv := s.server()
		srv.greet(legacy)
		c.read()
		c.send(initialized, call)
		srv.read()
		s.gateway.Close()
		c.want(cancelledLegacy)
	})
	for _, era := range []string{legacy, modern} {
		t.Run("stream, modern, to a server of "+era, func(t *testing.T) {
			s := newScene(t, era)
			c := s.client()
			c.send(modernCall)
			srv := s.server()
			srv.greet(era)
			srv.read()
			s.gateway.Close()
			c.want(cancelledByEnd)
		})
		t.Run("HTTP, modern, to a server of "+era, func(t *testing.T) {
			s := newSite(t, era)
			go func() {
				srv := s.server()
				srv.greet(era)
				srv.read()
				s.gateway.Close()
			}()
			s.post(modernCall, modernHeaders("tools/call", "Mcp-Name: t")...).want(200, cancelledByEnd)
		})
	}
	t.Run("HTTP, legacy", func(t *testing.T) {
		s := newSite(t, legacy)
		session, srv := s.open(legacy, `{}`)
		go func() {
			srv.read()
			s.gateway.Close()
		}()
		s.post(call, session).want(200, cancelledLegacy)
	})
	t.Run("all as one", func(t *testing.T) {
		s := newSite(t, legacy)
		s.url = strings.TrimSuffix(s.url, "/files")
		go func() {
			srv := s.server()
			srv.greet(legacy)
			srv.read()
			s.gateway.Close()
		}()
		s.post(strings.Replace(modernCall, `"t"`, `"files__t"`, 1), modernHeaders("tools/call", "Mcp-Name: files__t")...).want(200, cancelledByEnd)
	})
}

// calling returns a legacy client with a call under way, and the server that has it as $a.
func (s *scene) calling() (c, srv *end) {
	c = s.client()
	c.send(initialize("0", legacy, `{}`))
	srv = s.server()
	srv.greet(legacy)
	c.read()
	c.send(initialized, call)
	srv.want(`{"jsonrpc":"2.0","id":$a,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":$token}}}`)
	return c, srv
}

// Before it is closed, a gateway lets the calls end that are under way, and takes no others.
func TestFinish(t *testing.T) {
	s := newScene(t, legacy)
	c, srv := s.calling()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.gateway.Finish(over); !errors.Is(err, context.Canceled) {
		t.Errorf("a call is under way: %v", err)
	}
	c.send(strings.Replace(call, `"a-1"`, `2`, 1))
	c.want(refusedByEnd)
	srv.send(`{"jsonrpc":"2.0","id":$a,"result":{"content":[]}}`)
	c.want(`{"jsonrpc":"2.0","id":"a-1","result":{"content":[]}}`)
	if err := s.gateway.Finish(t.Context()); err != nil {
		t.Error(err)
	}
}

// A request that listens keeps no gateway from finishing, and a supervisor hears that it takes no more.
func TestFinishBesideAListener(t *testing.T) {
	s := newSite(t, modern)
	go func() { s.server().greet(modern) }()
	listener := s.post(`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{`+modernMeta(`{}`, "")+`,"notifications":{}}}`, modernHeaders("subscriptions/listen")...)
	listener.event() // the acknowledgement
	if err := s.gateway.Finish(t.Context()); err != nil {
		t.Error(err)
	}
	s.url = strings.TrimSuffix(s.url, "/mcp/files") + "/ready"
	if a := s.do(t.Context(), http.MethodGet, ""); a.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("ready: %d", a.StatusCode)
	}
	s.gateway.Close()
	if rest, err := io.ReadAll(listener.Body); err != nil || !strings.Contains(string(rest), `"id":"l"`) {
		t.Errorf("the listener has got %q, %v", rest, err)
	}
}

// A client that has ended its side gets the answers of three seconds, and an error for a call that takes longer,
// which the server hears of.
func TestClientEndsItsSide(t *testing.T) {
	for name, pause := range map[string]time.Duration{"in time": 2 * time.Second, "too long": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, legacy)
				c, srv := s.calling()
				began := time.Now()
				c.closeWrite()
				if pause < time.Hour {
					time.Sleep(pause)
					srv.send(`{"jsonrpc":"2.0","id":$a,"result":{"content":[]}}`)
					c.want(`{"jsonrpc":"2.0","id":"a-1","result":{"content":[]}}`)
				} else {
					c.want(`{"jsonrpc":"2.0","id":"a-1","error":{"code":-32603,"message":"the client has ended its side, and the request took longer than 3s after that; the server may have acted on the request"}}`)
					srv.want(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$a,"reason":"the client has ended its side, and the request took longer than 3s after that"}}`)
				}
				if line, more := <-c.lines; more || time.Since(began) > 4*time.Second {
					t.Errorf("after %v: %s", time.Since(began), line)
				}
			})
		})
	}
}

// The time that a server takes to start does not count: what is piped into the program ends before that.
func TestClientEndsItsSideDuringAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, legacy)
		c := s.client()
		c.send(initialize("0", legacy, `{}`), initialized, call)
		c.closeWrite()
		srv := s.server()
		time.Sleep(10 * time.Second)
		srv.greet(legacy)
		c.read()
		srv.want(`{"jsonrpc":"2.0","id":$a,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":$token}}}`)
		srv.send(`{"jsonrpc":"2.0","id":$a,"result":{"content":[]}}`)
		c.want(`{"jsonrpc":"2.0","id":"a-1","result":{"content":[]}}`)
	})
}
