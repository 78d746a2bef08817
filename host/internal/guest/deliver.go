package guest

import (
	"fmt"

	"github.com/wharf-mcp/wharf/abi"
)

// deliver takes bytes of an inbound message from the guest.
func (i *Instance) deliver(exchange uint32, p []byte, flags uint32) abi.Verdict {
	in := &i.inbound
	if flags&abi.Abort != 0 {
		i.forget(exchange)
		return abi.VerdictPending
	}
	if flags&abi.End != 0 && !in.started(exchange) && len(p) <= i.config.Limits.MessageCap {
		return i.deliverWhole(exchange, p, false)
	}
	m := in.open(exchange)
	if m == nil {
		i.caller.Trap(fmt.Errorf("parts of messages for more than %d exchanges at once", maxPartials))
	}
	in.add(m, p, i.expected(exchange), i.config.Limits.MessageCap, i.space())
	if m.dropped/maxOverrun > i.config.Limits.MessageCap {
		i.fail(&EndedError{Cause: errEndless})
	}
	if flags&abi.End == 0 {
		if exchange == 0 {
			i.midway.Store(true)
		}
		return abi.VerdictPending
	}
	whole := *m
	i.forget(exchange)
	if whole.dropped > 0 {
		i.receiver.TooBig(exchange, whole.data, whole.tail)
		return abi.VerdictTooBig
	}
	if cap(whole.data) > spareSize {
		in.learn(len(whole.data))
		return i.deliverWhole(exchange, whole.data, true)
	}
	defer in.keep(whole.data)
	return i.deliverWhole(exchange, whole.data, false)
}

// forget drops the part of a message that has come on an exchange.
func (i *Instance) forget(exchange uint32) {
	i.inbound.forget(exchange)
	if exchange == 0 {
		i.midway.Store(false)
	}
}

// expected returns the length that the message of an exchange will have, or 0 if unknown. It is
// known if the message is the HTTP body that is being read and the server gave its length. It is
// only a hint: a server may lie, and a guest may deliver other bytes.
func (i *Instance) expected(exchange uint32) int {
	if i.current.kind != abi.EventHead && i.current.kind != abi.EventData {
		return 0
	}
	h := i.lookup(i.current.handle)
	if h == nil || h.exchange != exchange || h.kind != abi.OpenHTTP {
		return 0
	}
	return int(min(max(h.length, 0), int64(i.config.Limits.MessageCap)))
}

// deliverWhole passes a complete message to the receiver.
func (i *Instance) deliverWhole(exchange uint32, msg []byte, owned bool) abi.Verdict {
	v := i.receiver.Deliver(exchange, msg, owned)
	if v == abi.VerdictAnswer {
		i.answered++
	}
	return v
}
