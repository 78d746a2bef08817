package rpc

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/wharf-mcp/wharf/abi"
)

// note is a link that writes down what each message is about, and the message.
type note struct{ sent []string }

func (n *note) Send(_ context.Context, m *Message) error {
	n.sent = append(n.sent, fmt.Sprintf("%d %s", m.About(), m.Body()))
	m.Free()
	return nil
}

func (n *note) Cancel(uint32) bool { return false }

// What a client sends on exchanges of its own is answered there, and its answers count on any of them.
func TestExchangesOfAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &note{}
		c := serves()
		c.Link = l
		p := NewPeer(c)
		defer p.Close(nil)
		deliver := func(exchange uint32, msg string, want abi.Verdict) {
			t.Helper()
			if got := p.Deliver(exchange, []byte(msg), false); got != want {
				t.Errorf("%s: verdict %v, want %v", msg, got, want)
			}
			synctest.Wait()
		}
		deliver(7, `{"jsonrpc":"2.0","id":"a","method":"ping"}`, abi.VerdictRequest)
		deliver(8, `{"jsonrpc":"2.0","id":"b","method":"wait"}`, abi.VerdictRequest)
		deliver(9, `{"jsonrpc":"2.0","id":"b","method":"ping"}`, abi.VerdictRequest)
		deliver(10, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, abi.VerdictMalformed)
		p.NotifyAbout(t.Context(), 8, "notifications/x", nil)
		p.Notify(t.Context(), "notifications/y", nil)
		go p.Call(t.Context(), &Call{Method: "roots/list", About: 8}, nil)
		synctest.Wait()
		deliver(11, `{"jsonrpc":"2.0","id":5,"result":{}}`, abi.VerdictAnswer)
		want := []string{
			`7 {"jsonrpc":"2.0","id":"a","result":{}}`,
			`9 ` + fault(`"b"`, codeInvalidRequest, idInUse.Message),
			`8 {"jsonrpc":"2.0","method":"notifications/x"}`,
			`0 {"jsonrpc":"2.0","method":"notifications/y"}`,
			`8 {"jsonrpc":"2.0","id":5,"method":"roots/list"}`,
		}
		if got := fmt.Sprint(l.sent); got != fmt.Sprint(want) {
			t.Errorf("sent:\n%s\nwant\n%s", got, want)
		}
	})
}

func TestReadIncoming(t *testing.T) {
	in, err := ReadIncoming([]byte(`{"jsonrpc":"2.0","id":1.50,"method":"x/\u0079","params":{"a":1}}`))
	if err != nil || string(in.ID()) != "1.50" || in.Method != "x/y" || string(in.Params) != `{"a":1}` {
		t.Errorf("%+v, %v", in, err)
	}
	if _, err := ReadIncoming([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)); err != ErrAnswer {
		t.Errorf("an answer: %v", err)
	}
	for msg, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":7}`:          `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"malformed message: method is not a string"}}`,
		`{"jsonrpc":"2.0","id":1,`:                     `{"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"malformed message: text ends too early at offset 24"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:         `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"` + ErrAnswer.Error() + `"}}`,
		`{"jsonrpc":"2.0","method":"x","params":true}`: `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"malformed message: params is neither an object nor an array"}}`,
		`{"jsonrpc":"2.0","id":null,"method":"x"}`:     `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"malformed message: request with the id null"}}`,
	} {
		_, err := ReadIncoming([]byte(msg))
		if got := string(AppendRefusal(nil, []byte(msg), nil)); got != want || err != ErrAnswer && !errors.Is(err, ErrMalformed) {
			t.Errorf("%s (%v):\n got %s\nwant %s", msg, err, got, want)
		}
	}
}
