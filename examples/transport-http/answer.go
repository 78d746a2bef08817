package main

import (
	"bytes"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// answer takes one event of the response to a call.
func (t *transport) answer(c *call, e sdk.Event) error {
	switch e.Kind {
	case abi.EventHead:
		return t.head(c, e)
	case abi.EventData, abi.EventEnd:
		t.body(c, e.Payload, e.Last())
	case abi.EventError:
		t.broken(c, e)
	}
	return nil
}

// head finds out what the response is.
func (t *transport) head(c *call, e sdk.Event) error {
	head, body, err := e.Head()
	if err != nil {
		return err
	}
	status, media := e.HTTPStatus(), mediaType(head)
	c.refusal.Reset(status)
	handshaken := taken(status) && c.member && t.session.lives(c.epoch)
	switch {
	case c.named && status == 404:
		t.expired(c)
	case c.resumed:
		t.continued(c, status, media)
	case taken(status):
		t.accepted(c, media, head)
	case media == mediaJSON && c.waits:
		c.form = isJSON
	default:
		c.form = isText
	}
	if handshaken && t.listener.state == deaf && c.form == isVoid && e.Last() {
		t.listenFirst(c)
		return nil
	}
	if t.body(c, body, e.Last()); handshaken {
		t.beginListening()
	}
	return nil
}

// accepted handles a response to a message that the server accepted.
func (t *transport) accepted(c *call, media string, head *abi.HeadReader) {
	switch {
	case !c.waits || c.refusal.Status == 202 || c.refusal.Status == 204:
		c.form = isVoid
	case media == mediaJSON || media == "":
		c.form = isJSON
	case media == mediaEvents:
		c.form = isEvents
	default:
		t.fail(c, abi.ProtocolFailed, c.refusal.String()+": expected "+mediaJSON+" or "+mediaEvents+", got "+media[:min(len(media), maxWords)])
	}
	if c.opens && (c.form == isJSON || c.form == isEvents) {
		t.stopListening()
		t.session.begin(c.epoch+1, string(head.Value("mcp-session-id")))
		t.session.keep(t.conn, nil)
	}
}

// taken reports whether a status says that a message was accepted.
func taken(status int) bool { return status >= 200 && status < 300 }

// body takes the next bytes of the response.
func (t *transport) body(c *call, p sdk.Payload, last bool) {
	switch c.form {
	case isJSON:
		t.message(c, p, last)
	case isEvents:
		t.stream(c, p, last)
	case isText:
		// No caller waits to read why a notification was refused.
		if c.refusal.Add(p) || last || !c.waits {
			t.refused(c)
		}
	case isVoid:
		if c.answered = !c.waits; last {
			t.done(c)
		} else {
			t.drain(c, p.Len())
		}
	}
}

// message takes a body that is one message. The host drops a message beyond the
// cap, so message ends the call there and does not wait for the rest.
func (t *transport) message(c *call, p sdk.Payload, last bool) {
	if c.size += p.Len(); !last && c.size <= t.cap {
		if c.refusal.Add(p); p.Len() > 0 {
			p.Deliver(c.exchange, abi.More)
		}
		return
	}
	verdict := p.Deliver(c.exchange, abi.End)
	if verdict == abi.VerdictAnswer || verdict == abi.VerdictWrongID {
		t.done(c)
		return
	}
	c.refusal.Add(p)
	switch {
	case !taken(c.refusal.Status):
		t.refused(c)
	case verdict == abi.VerdictTooBig:
		t.fail(c, abi.TooLarge, "the answer is longer than a message may be")
	case verdict == abi.VerdictMalformed:
		t.fail(c, abi.ProtocolFailed, "expected one JSON-RPC message, got "+c.refusal.String())
	default:
		t.done(c)
	}
}

// refused ends a call whose status was no success. It allows to send the
// message again only if the status means that the server has not acted on it.
func (t *transport) refused(c *call) {
	status := abi.Refused
	if c.refusal.Status >= 500 && c.refusal.Status != 503 {
		status = abi.ProtocolFailed
	}
	t.fail(c, status, c.refusal.String())
}

// expired ends a call that the server refused because it does not know the
// session. Its body says nothing more, even if it is JSON.
func (t *transport) expired(c *call) {
	t.conn.Expired(c.exchange, "")
	if c.resumed {
		t.fail(c, abi.Reset, "HTTP 404: the server forgot the session before it answered")
	} else {
		t.fail(c, abi.Refused, "HTTP 404: the server no longer knows the session")
	}
	if t.session.forget(c.epoch) {
		t.stopListening()
		t.conn.Save(nil)
	}
}

// broken ends a call that failed below HTTP.
func (t *transport) broken(c *call, e sdk.Event) {
	switch {
	case c.answered:
		t.done(c)
	case c.form == isEvents && t.resumable(c), c.resumed && c.tries < maxTries:
		t.pause(c)
	case c.form == isText:
		t.refused(c)
	default:
		t.fail(c, e.Status(), c.method()+": "+string(e.Slice(0, min(e.Len(), maxWords)).Bytes()))
	}
}

// done ends a call without a failure. The host knows whether the call was
// answered.
func (t *transport) done(c *call) {
	t.conn.Done(c.exchange)
	c.handle.Close()
	t.calls.end(c)
}

// fail ends a call with a reason.
func (t *transport) fail(c *call, s abi.Status, text string) {
	t.conn.Failed(c.exchange, s, text)
	c.handle.Close()
	t.calls.end(c)
}

// maxWords bounds how many bytes of a server's text go into a reason.
const maxWords = 1 << 10

// mediaType returns the media type of a body without its parameters, in small
// letters.
func mediaType(h *abi.HeadReader) string {
	value := h.Value("content-type")
	switch string(value) {
	case mediaJSON:
		return mediaJSON
	case mediaEvents:
		return mediaEvents
	}
	media, _, _ := bytes.Cut(value, []byte(";"))
	media = bytes.Clone(bytes.Trim(media, " \t"))
	for i, c := range media {
		if c >= 'A' && c <= 'Z' {
			media[i] = c + 'a' - 'A'
		}
	}
	return string(media)
}
