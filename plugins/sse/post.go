package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sse"
)

// post is one message on its way. Its response only says whether it was taken;
// what answers it comes by the stream.
type post struct {
	handle   sdk.Handle // zero: the place is free
	exchange uint32
	waits    bool // for an answer by the stream
	refused  bool // the body is the reason
	lingers  bool // it was taken, and its body is not over
	refusal  sse.Refusal
}

// maxLingering is how many posts that were taken may have a body to come. It is
// read, so that the connection below it can be used again; but a server that
// ends none of them must not have all the handles.
const maxLingering = 16

// posts are those on their way, by the index of their handle.
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

// body takes the next bytes of a response. No caller waits to read why a message
// was refused that needs no answer, so the reason may be cut short.
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

// taken ends a post that did what it should.
func (k *posts) taken(p *post, c *sdk.Conn) {
	if !p.waits {
		c.Done(p.exchange)
	}
	k.end(p)
}

// status returns what the refusal means for the message. That it may be sent
// again is only said where nothing can have been done with it.
func (p *post) status() abi.Status {
	if p.refusal.Status >= 500 && p.refusal.Status != 503 {
		return abi.ProtocolFailed
	}
	return abi.Refused
}

// broken is for a failure below HTTP. One that comes after the message was taken
// makes no difference.
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
