package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// A server that was connected anew refuses a subscription. The client subscribes again, and stays
// subscribed.
func TestSubscribedAgain(t *testing.T) { synctest.Test(t, subscribedAgain) }

func subscribedAgain(t *testing.T) {
	s := newScene(t, legacy)
	c := s.client()
	c.send(initialize("0", legacy, `{}`))
	srv := s.server()
	srv.greetAs(legacy)
	c.read()
	c.send(initialized, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}`)
	srv.want(`{"jsonrpc":"2.0","id":$s,"method":"resources/subscribe","params":{"uri":"a:b"}}`)
	srv.send(`{"jsonrpc":"2.0","id":$s,"result":{}}`)
	c.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	srv.conn.Close()
	srv = s.server() // for the subscription
	delete(s.vars, "hello")
	srv.greetAs(legacy)
	srv.want(`{"jsonrpc":"2.0","id":$r,"method":"resources/subscribe","params":{"uri":"a:b"}}`)
	srv.send(`{"jsonrpc":"2.0","id":$r,"error":{"code":-32002,"message":"not yet"}}`)
	srv.want(`{"jsonrpc":"2.0","id":$gone,"method":"resources/unsubscribe","params":{"uri":"a:b"}}`) // of the one that was refused
	srv.send(`{"jsonrpc":"2.0","id":$gone,"result":{}}`)
	synctest.Wait()
	for range 2 { // what is said of the new connection
		if got := c.read(); !strings.Contains(got, `/list_changed"`) {
			t.Fatal(got)
		}
	}

	c.send(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a:b"}}`)
	srv.want(`{"jsonrpc":"2.0","id":$again,"method":"resources/subscribe","params":{"uri":"a:b"}}`)
	srv.send(`{"jsonrpc":"2.0","id":$again,"result":{}}`)
	c.want(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	synctest.Wait()
	c.send(`{"jsonrpc":"2.0","id":3,"method":"x/own"}`)
	srv.want(`{"jsonrpc":"2.0","id":$x,"method":"x/own"}`) // and no resources/unsubscribe before it
	c.send(`{"jsonrpc":"2.0","id":4,"method":"resources/unsubscribe","params":{"uri":"a:b"}}`)
	srv.want(`{"jsonrpc":"2.0","id":$u,"method":"resources/unsubscribe","params":{"uri":"a:b"}}`)
}

// A server that was connected anew refuses to tell of its lists. It is asked again with the next
// request of the client.
func TestListsAreFollowedAgain(t *testing.T) { synctest.Test(t, listsAreFollowedAgain) }

func listsAreFollowedAgain(t *testing.T) {
	s := newScene(t, modern)
	c := s.client()
	c.send(initialize("0", legacy, `{}`))
	srv := s.server()
	srv.greetAs(modern)
	c.read()
	c.send(initialized)
	listens := func(name string) {
		t.Helper()
		srv.want(`{"jsonrpc":"2.0","id":$` + name + `,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true},` +
			upstreamMeta(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, "") + `}}`)
	}
	listens("first")
	srv.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":$first},"notifications":{"toolsListChanged":true}}}`)
	synctest.Wait()
	srv.conn.Close()
	srv = s.server()
	srv.greetAs(modern)
	listens("second")
	srv.send(`{"jsonrpc":"2.0","id":$second,"error":{"code":-32603,"message":"not yet"}}`)
	synctest.Wait()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"x/own"}`)
	srv.want(`{"jsonrpc":"2.0","id":$x,"method":"x/own","params":{` + upstreamMeta(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, "") + `}}`)
	srv.send(`{"jsonrpc":"2.0","id":$x,"result":{"resultType":"complete"}}`)
	c.want(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`)
	listens("third")
}

// The streams of a modern client name 1,000 resources at most, however the server hears of them.
func TestStreamsAreBounded(t *testing.T) {
	s := newScene(t, modern)
	c := s.client()
	listen := func(id string, uris int) {
		all := make([]string, uris)
		for n := range all {
			all[n] = fmt.Sprintf(`"%s:%d"`, id, n)
		}
		c.send(`{"jsonrpc":"2.0","id":"` + id + `","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":[` +
			strings.Join(all, ",") + `]},` + modernMeta(`{}`, "") + `}}`)
	}
	const refusal = `"error":{"code":-32603,"message":"the client has subscribed to 1000 resources, which is the most"}}`
	listen("a", 1001)
	srv := s.server()
	srv.greetAs(modern)
	c.want(`{"jsonrpc":"2.0","id":"a",` + refusal)
	listen("b", 600)
	if got := srv.read(); !strings.Contains(got, `"b:599"`) {
		t.Error(got)
	}
	listen("c", 401)
	c.want(`{"jsonrpc":"2.0","id":"c",` + refusal)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b"}}`)
	if got := srv.read(); !strings.Contains(got, `notifications/cancelled`) {
		t.Error(got)
	}
	listen("d", 401)
	if got := srv.read(); !strings.Contains(got, `"d:400"`) {
		t.Error(got)
	}
}
