package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sse"
)

// post is one message that is being posted. Its HTTP response only says whether the server
// accepted it; the answer comes by the stream.
type post struct {
	handle   sdk.Handle // zero: the place is free
	exchange uint32
	waits    bool // for an answer by the stream
	refused  bool // the body is the reason
	lingers  bool // it was accepted, and its body is not over
	refusal  sse.Refusal
}

// maxLingering bounds how many accepted posts may have a body to come. Their bodies are read so
// that the connection can be used again. But a server that ends none of them must not use up all
// handles.
const maxLingering = 16

// posts holds the posts in progress, by the index of their handle.
type posts struct {
	open      [1 << 8]post
	lingering int
}

func (k *posts) begin(h sdk.Handle, exchange uint32, waits bool) {
	index, _ := abi.SplitHandle(h.ID())
	k.open[index] = post{handle: h, exchange: exchange, waits: waits}
}

// cancel forgets the post of an exchange; the host closes its handle.
func (k *posts) cancel(exchange uint32) {
	for i := range k.open {
		if k.open[i].exchange == exchange {
			k.forget(&k.open[i])
		}
	}
}

// response takes one event of the response to a post.
func (k *posts) response(e sdk.Event) error {
	index, _ := abi.SplitHandle(e.Handle.ID())
	p := &k.open[index]
	if p.handle != e.Handle {
		return nil
	}
	body := e.Payload
	switch e.Kind {
	case abi.EventHead:
		_, rest, err := e.Head()
		if err != nil {
			return err
		}
		status := e.HTTPStatus()
		p.refusal.Status, p.refused = status, status < 200 || status >= 300
		body = rest
	case abi.EventError:
		k.broken(p, e)
		return nil
	}
	k.body(p, body, e.Last())
	return nil
}

// body takes the next bytes of a response. The reason of a refusal may be cut short if the
// message needs no answer, since no caller waits for it.
func (k *posts) body(p *post, body sdk.Payload, last bool) {
	if p.refused {
		if p.refusal.Add(body) || last || !p.waits {
			k.fail(p, body.Conn(), p.status(), p.refusal.String())
		}
		return
	}
	if last || !p.lingers && k.lingering >= maxLingering {
		k.taken(p, body.Conn())
	} else if !p.lingers {
		p.lingers = true
		k.lingering++
	}
}

// taken ends a post whose message the server accepted.
func (k *posts) taken(p *post, c *sdk.Conn) {
	if !p.waits {
		c.Done(p.exchange)
	}
	k.end(p)
}

// status returns what a refusal means for the message. It allows to send the message again only
// if the server cannot have acted on it.
func (p *post) status() abi.Status {
	if p.refusal.Status >= 500 && p.refusal.Status != 503 {
		return abi.ProtocolFailed
	}
	return abi.Refused
}

// broken handles a failure below HTTP. A failure after the message was accepted changes
// nothing.
func (k *posts) broken(p *post, e sdk.Event) {
	switch {
	case p.refused:
		k.fail(p, e.Conn(), p.status(), p.refusal.String())
	case p.refusal.Status == 0:
		k.fail(p, e.Conn(), e.Status(), "POST: "+string(e.Slice(0, min(e.Len(), 1024)).Bytes()))
	default:
		k.taken(p, e.Conn())
	}
}

func (k *posts) fail(p *post, c *sdk.Conn, s abi.Status, text string) {
	c.Failed(p.exchange, s, text)
	k.end(p)
}

func (k *posts) end(p *post) {
	p.handle.Close()
	k.forget(p)
}

func (k *posts) forget(p *post) {
	if p.lingers {
		k.lingering--
	}
	*p = post{}
}
