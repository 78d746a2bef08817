package main

import (
	"math"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// transport speaks to one server. Every message is a POST of its own, and the
// response to it comes back on the message's exchange. In the legacy era there
// are also a session and a stream for messages that belong to no call.
type transport struct {
	conn     *sdk.Conn
	cap      int // bytes of a message; a longer one is refused
	session  session
	calls    calls
	listener listener
	farewell sdk.Handle // the DELETE of the session
	request  request
	ticking  bool // drainTimer is armed
}

// drainTimer is the timer of streams that are answered, and holdTimer that of a
// message that is held for the listener. Each other timer has the number of the
// exchange that it is for.
const (
	drainTimer = math.MaxUint32
	holdTimer  = math.MaxUint32 - 1
)

// Open has nothing to connect: the first POST will.
func (t *transport) Open(c *sdk.Conn, s *abi.Settings) error {
	t.conn, t.cap = c, int(s.MessageCap)
	if t.cap == 0 {
		t.cap = math.MaxInt32
	}
	c.Up()
	return nil
}

// Message sends a POST. A message of a session that is gone is refused here:
// the server would say the same.
func (t *transport) Message(m sdk.Message) (sdk.Outcome, error) {
	f, err := m.Facts()
	if err != nil {
		return sdk.Later, err
	}
	if t.session.lost(f) {
		t.conn.Expired(m.Exchange, "")
		return m.Fail(abi.Refused, "the session that it was for has ended")
	}
	member, id := t.session.meet(f)
	h, err := t.conn.OpenBlock(abi.OpenHTTP, m.Exchange, t.request.post(f, id))
	if err != nil {
		return m.Fail(statusOf(err), err.Error())
	}
	c := t.calls.begin(m.Exchange, h, f)
	c.member, c.named = member, id != ""
	h.Forward(m.Payload, abi.End)
	return sdk.Later, nil
}

func (t *transport) Handle(e sdk.Event) error {
	switch e.Kind {
	case abi.EventHead, abi.EventData, abi.EventEnd, abi.EventError:
		return t.response(e)
	case abi.EventCancel:
		t.cancel(e.Arg)
	case abi.EventTimer:
		t.timer(e.Handle.ID())
	case abi.EventResume:
		t.listener.events.SetID(t.session.restore(string(e.Bytes())))
	case abi.EventClose:
		t.close()
	}
	return nil
}

// response passes an event to the call, the listener or the session that it is about.
func (t *transport) response(e sdk.Event) error {
	switch e.Handle {
	case t.listener.handle:
		return t.listen(e)
	case t.farewell:
		t.farewell.Close()
		t.conn.Ended()
		return nil
	}
	if c := t.calls.at(e.Handle); c != nil {
		return t.answer(c, e)
	}
	return nil
}

// cancel forgets a call. The host closes the call's stream once the plugin has
// handled the event. In the modern era, that close tells the server.
func (t *transport) cancel(exchange uint32) {
	if exchange == t.listener.held {
		t.release()
		return
	}
	c := t.calls.of(exchange)
	if c == nil {
		return
	}
	if c.events.Restart(t.conn); c.form == paused {
		t.conn.Timer(exchange, 0)
	}
	t.calls.end(c)
}

func (t *transport) timer(id uint32) {
	switch id {
	case 0:
		t.openListener()
	case holdTimer:
		t.release()
	case drainTimer:
		t.tick()
	default:
		if c := t.calls.of(id); c != nil && c.form == paused {
			t.resume(c)
		}
	}
	t.calls.rearm(t.conn) // there is room for a timer now
}

// close ends the session at the server, which may refuse that.
func (t *transport) close() {
	if t.session.id == "" {
		t.conn.Ended()
		return
	}
	h, err := t.conn.Open(abi.OpenHTTP, 0, t.request.bare("DELETE", &t.session, nil))
	if err != nil {
		t.conn.Ended()
		return
	}
	t.farewell = h
	h.Write(nil, abi.End)
}
