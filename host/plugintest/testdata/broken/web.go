package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

func (b *broken) post(m sdk.Message, request bool) (sdk.Outcome, error) {
	r := abi.OpenRequest{Grant: "main", Method: "POST"}
	switch b.fault {
	case "web-authorizes":
		r.Headers = []abi.Pair{{Key: "authorization", Value: "Bearer x"}}
	case "web-elsewhere":
		r.Target = "https://other.example/"
	}
	h, err := m.Conn().Open(abi.OpenHTTP, m.Exchange, &r)
	if err != nil {
		if b.is("web-refusal-lost") {
			return sdk.Later, nil
		}
		return m.Fail(abi.Unreachable, err.Error())
	}
	b.posts[h.ID()] = post{exchange: m.Exchange, waits: request}
	h.Forward(m.Payload, abi.End)
	return sdk.Later, nil
}

func (b *broken) webHandle(e sdk.Event) error {
	if e.Kind == abi.EventClose {
		e.Conn().Ended()
		return nil
	}
	p, known := b.posts[e.Handle.ID()]
	if !known {
		return nil
	}
	body := e.Payload
	switch e.Kind {
	case abi.EventHead:
		_, rest, err := e.Head()
		if err != nil {
			return err
		}
		p.status, body = e.HTTPStatus(), rest
		b.posts[e.Handle.ID()] = p
		if p.status >= 500 && b.is("web-fault-fatal") {
			return sdk.Fail(abi.ProtocolFailed, "the server is broken")
		}
	case abi.EventError:
		b.over(e, p, abi.Reset)
		return nil
	}
	return b.body(e, p, body)
}

func (b *broken) body(e sdk.Event, p post, body sdk.Payload) error {
	exchange := p.exchange
	if b.is("web-shared") { // all answers in one place
		exchange = 0
	}
	if !p.waits {
		if e.Last() {
			b.over(e, p, abi.OK)
		}
		return nil
	}
	if !e.Last() {
		body.Deliver(exchange, abi.More)
		return nil
	}
	verdict := body.Deliver(exchange, abi.End)
	switch {
	case verdict == abi.VerdictAnswer:
		b.over(e, p, abi.OK)
	case b.is("web-silent"):
	case b.is("web-malformed-fatal"):
		return sdk.Fail(abi.ProtocolFailed, "no message")
	default:
		b.over(e, p, abi.ProtocolFailed)
	}
	return nil
}

// over ends an exchange.
func (b *broken) over(e sdk.Event, p post, s abi.Status) {
	delete(b.posts, e.Handle.ID())
	if s == abi.OK {
		e.Conn().Done(p.exchange)
	} else {
		e.Conn().Failed(p.exchange, s, "no answer")
	}
	e.Handle.Close()
}
