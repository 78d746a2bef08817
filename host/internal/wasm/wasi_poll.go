package wasm

import (
	"encoding/binary"
	"time"
)

var wasiPoll = []hostFunc{call("poll_oneoff", "iiii", pollOneoff)}

const (
	subscriptionSize = 48
	eventSize        = 32
	maxSubscriptions = 64
	clockEvent       = 0

	longestNap = time.Millisecond
	napPrice   = 1_000_000
)

// pollOneoff answers every subscription at once, because a guest that waits holds up the
// host, and timers are events of the host. It sleeps for a millisecond at most, for a high
// price: so a runtime that waits for the clock does not spin, and ends with its budget.
func pollOneoff(in *Instance, args []uint64) errno {
	count := uint32(args[2])
	if count == 0 || count > maxSubscriptions {
		return eInval
	}
	in.Charge(int64(count) * wasiCall)
	subscriptions, ok := in.Memory(uint32(args[0]), count*subscriptionSize)
	if !ok {
		return eFault
	}
	events, ok := in.Memory(uint32(args[1]), count*eventSize)
	if !ok {
		return eFault
	}
	nap := time.Duration(0)
	for n := range int(count) {
		s, e := subscriptions[n*subscriptionSize:][:subscriptionSize], events[n*eventSize:][:eventSize]
		nap = max(nap, answer(s, e))
	}
	if nap > 0 {
		in.Charge(napPrice)
		time.Sleep(nap)
	}
	return put32(in, args[3], count)
}

// answer writes the event for one subscription and returns how long to sleep for it.
func answer(s, e []byte) time.Duration {
	kind := s[8]
	var saved [8]byte
	copy(saved[:], s)
	timeout := binary.LittleEndian.Uint64(s[24:])
	absolute := s[40]&1 != 0
	clear(e)
	copy(e, saved[:])
	e[10] = kind
	if kind != clockEvent {
		binary.LittleEndian.PutUint16(e[8:], uint16(eBadf))
		return 0
	}
	if absolute || timeout > uint64(longestNap) {
		return longestNap
	}
	return time.Duration(timeout)
}
