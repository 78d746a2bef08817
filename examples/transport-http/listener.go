package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sse"
)

// listener is the stream for messages that belong to no call (2025-11-25,
// basic/transports, listening for messages). A server need not have one, and its
// failure harms no call.
type listener struct {
	state  listening
	handle sdk.Handle
	events sse.Reader
	tries  int    // openings since the last event
	held   uint32 // the exchange that is done as soon as the server answers, or 0
}

// holdTime is how long a message is held for the listener, in milliseconds.
const holdTime = 250

type listening uint8

const (
	deaf    listening = iota // the session has not begun to listen
	waiting                  // for events, or for the next attempt
	off                      // the server has no such stream
)

// beginListening opens the listener of a session, once. It is called when the server has
// accepted a message of the session, since the handshake is over then.
func (t *transport) beginListening() {
	if t.listener.state == deaf {
		t.openListener()
	}
}

func (t *transport) openListener() {
	l := &t.listener
	l.state = off
	h, err := t.conn.Open(abi.OpenHTTP, 0, t.request.bare("GET", &t.session, l.events.ID()))
	if err != nil {
		return
	}
	l.state, l.handle = waiting, h
	h.Write(nil, abi.End)
}

// listenFirst begins to listen before it reports that c, which the server accepted, is
// done. So messages that the next one causes find a listener. It does not wait for
// a server that is slow to answer.
func (t *transport) listenFirst(c *call) {
	exchange := c.exchange
	c.handle.Close()
	t.calls.end(c)
	if t.openListener(); t.listener.state == waiting && t.conn.Timer(holdTimer, holdTime) == abi.OK {
		t.listener.held = exchange
		return
	}
	t.conn.Done(exchange)
}

// release says that the message which was held is done.
func (t *transport) release() {
	if exchange := t.listener.held; exchange != 0 {
		t.listener.held = 0
		t.conn.Timer(holdTimer, 0)
		t.conn.Done(exchange)
	}
}

// stopListening forgets the listener of a session that is over.
func (t *transport) stopListening() {
	t.release()
	l := &t.listener
	if l.handle != (sdk.Handle{}) {
		l.events.Restart(t.conn)
		l.handle.Close()
	} else if l.state == waiting {
		t.conn.Timer(0, 0)
	}
	l.events.Reset(0)
	*l = listener{events: l.events}
}

// listen takes one event of the listener's response.
func (t *transport) listen(e sdk.Event) error {
	t.release()
	l := &t.listener
	p := e.Payload
	switch e.Kind {
	case abi.EventHead:
		head, body, err := e.Head()
		if err != nil {
			return err
		}
		if !t.hears(e.HTTPStatus(), mediaType(head)) {
			return nil
		}
		p = body
	case abi.EventError:
		if e.Status() == abi.Denied {
			l.hangUp(off)
		} else {
			t.listenLater()
		}
		return nil
	}
	t.hear(p, e.Last())
	return nil
}

// hears reports whether the response is a stream. A refusal means that the server has no
// stream, unless the server is in trouble, or refuses the id of an event that it no
// longer knows.
func (t *transport) hears(status int, media string) bool {
	l := &t.listener
	switch {
	case status == 200 && media == mediaEvents:
		return true
	case status >= 500:
		t.listenLater()
	case status >= 400 && len(l.events.ID()) > 0:
		l.events.SetID("")
		t.listenLater()
	default:
		l.hangUp(off)
	}
	return false
}

// hear takes bytes of the stream.
func (t *transport) hear(p sdk.Payload, last bool) {
	l := &t.listener
	for p.Len() > 0 {
		var ok bool
		if p, ok = l.events.Next(p); !ok {
			break
		}
		if l.tries = 0; l.events.HasID() {
			t.session.keep(t.conn, l.events.ID())
		}
	}
	if l.events.Size() > t.cap {
		t.conn.Log(abi.LevelWarn, "listener: an event is longer than a message may be")
		last = true
	}
	if last {
		t.listenLater()
	}
}

// listenLater opens the listener again after a while.
func (t *transport) listenLater() {
	l := &t.listener
	l.hangUp(waiting)
	l.events.Restart(t.conn)
	if t.farewell != (sdk.Handle{}) {
		return // the connection closes
	}
	if t.conn.Timer(0, patience(l.events.Retry(), l.tries)) != abi.OK {
		l.state = off
	}
	l.tries++
}

func (l *listener) hangUp(next listening) {
	l.handle.Close()
	l.handle, l.state = sdk.Handle{}, next
}
