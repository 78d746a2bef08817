package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sse"
)

// call is one message on its way, whatever its kind, and the response to it. The
// next call reuses the buffers, events and refusal. course begins anew.
type call struct {
	course
	events  sse.Reader
	refusal sse.Refusal
}

// course is the state of a call.
type course struct {
	exchange uint32
	epoch    uint32
	handle   sdk.Handle
	waits    bool // it is a request: a caller waits for the answer
	opens    bool // it is an initialize
	member   bool // it belongs to a session
	named    bool // it was sent with the id of its session
	resumed  bool // the response is to a GET that goes on with an earlier one

	form     form
	size     int    // bytes of a body in JSON, or of what followed the answer
	answered bool   // the rest of the response is ignored
	drained  bool   // the rest is still read, within bounds
	aged     bool   // the rest has been read for a whole tick
	tries    int    // resumptions since the last event
	wait     uint32 // before the next resumption
	armed    bool   // the timer of the next resumption runs
}

// method returns the HTTP method of the request on its way.
func (c *call) method() string {
	if c.resumed {
		return "GET"
	}
	return "POST"
}

// form says what kind of response came.
type form uint8

const (
	unknown form = iota // there is no response yet
	isJSON              // one message
	isEvents
	isText // of an error: only for people
	isVoid // nothing is expected in it
	paused // it broke off, and is to be resumed
	over   // the call is forgotten
)

// calls holds the calls on their way. The index of a handle finds its call. A call
// that is over is used again for the next, so that nothing becomes garbage.
type calls struct {
	open    [1 << 8]*call // by the index of their handle
	resting []*call       // paused ones, which have no handle
	drained []*call       // answered ones, the oldest first; they are open too
	free    []*call
}

// begin makes the call of a message that is being sent.
func (k *calls) begin(exchange uint32, h sdk.Handle, f *abi.FactsReader) *call {
	var c *call
	if n := len(k.free); n > 0 {
		c, k.free = k.free[n-1], k.free[:n-1]
	} else {
		c = &call{}
	}
	c.course = course{
		exchange: exchange, epoch: f.Epoch(),
		waits: f.Kind() == abi.Request, opens: string(f.Method()) == "initialize",
	}
	c.refusal.Reset(0)
	c.events.Reset(exchange)
	k.hold(c, h)
	return c
}

// hold makes h the handle of c.
func (k *calls) hold(c *call, h sdk.Handle) {
	c.handle = h
	index, _ := abi.SplitHandle(h.ID())
	k.open[index] = c
}

// at returns the call with that handle, or nil.
func (k *calls) at(h sdk.Handle) *call {
	index, _ := abi.SplitHandle(h.ID())
	if c := k.open[index]; c != nil && c.handle == h {
		return c
	}
	return nil
}

// of returns the call of an exchange, or nil. It looks at all of them, which a
// cancellation and a resumption can afford.
func (k *calls) of(exchange uint32) *call {
	for _, c := range k.open {
		if c != nil && c.exchange == exchange {
			return c
		}
	}
	for _, c := range k.resting {
		if c.exchange == exchange {
			return c
		}
	}
	return nil
}

// end forgets c.
func (k *calls) end(c *call) {
	if c.form == paused {
		k.resting = without(k.resting, c)
	} else {
		index, _ := abi.SplitHandle(c.handle.ID())
		k.open[index] = nil
	}
	if c.drained {
		k.drained = without(k.drained, c)
	}
	c.form, c.handle = over, sdk.Handle{}
	k.free = append(k.free, c)
}

// rest parts c from its handle until it is resumed.
func (k *calls) rest(c *call) {
	index, _ := abi.SplitHandle(c.handle.ID())
	k.open[index] = nil
	c.form, c.handle = paused, sdk.Handle{}
	k.resting = append(k.resting, c)
}

// wake removes c from the resting calls.
func (k *calls) wake(c *call) {
	k.resting = without(k.resting, c)
	c.form, c.armed = unknown, false
}

// rearm sets the timers of paused calls that have none. More streams can break
// off at once than there are timers. Then some calls wait for a timer, and so wait
// longer than the server asked.
func (k *calls) rearm(conn *sdk.Conn) {
	for _, c := range k.resting {
		if !c.armed {
			c.armed = conn.Timer(c.exchange, c.wait) == abi.OK
			if !c.armed {
				return
			}
		}
	}
}

// without removes c from list and keeps the order.
func without(list []*call, c *call) []*call {
	for i, other := range list {
		if other == c {
			copy(list[i:], list[i+1:])
			list[len(list)-1] = nil
			return list[:len(list)-1]
		}
	}
	return list
}
