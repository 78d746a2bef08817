package guest

import (
	"bytes"
	"fmt"

	"github.com/wharf-mcp/wharf/abi"
)

// lookup returns the open handle of that number, or nil.
func (i *Instance) lookup(number uint32) *handle {
	index, generation := abi.SplitHandle(number)
	if index == 0 || int(index) > len(i.handles) {
		return nil
	}
	h := &i.handles[index-1]
	if h.stream == nil || h.generation != generation {
		return nil
	}
	return h
}

// countOpen adds change to the number of open handles. Messages wait while that number is close to
// the limit.
func (i *Instance) countOpen(change int) {
	i.mu.Lock()
	i.opened += change
	i.mu.Unlock()
}

// release closes a handle. Its number names no handle from now on.
func (i *Instance) release(h *handle) {
	i.flushHandle(h)
	h.stream.Close()
	i.setBackpressured(h, false)
	i.countOpen(-1)
	i.queued -= h.queued
	i.callerBytes -= h.callerBytes
	*h = handle{generation: (h.generation + 1) & abi.MaxGeneration}
}

// write queues bytes to a handle. The bytes must not change until the next flush. Those of a
// message do not change; the caller copies others with stash.
func (i *Instance) write(h *handle, p []byte, end bool) {
	h.stream.Write(p, end)
	i.wrote(h, len(p))
}

// borrowSize is the length from which a copy costs more than a reference.
const borrowSize = 64 << 10

// chargeCaller counts n bytes of the current message, which are about to be queued to h, for the
// caller that sent it. It counts each byte of a message once. Bytes that a guest queues again count
// for the guest.
func (i *Instance) chargeCaller(h *handle, n int) {
	n = min(n, len(i.current.payload)-i.forwarded)
	i.forwarded += n
	h.callerBytes += n
	i.callerBytes += n
}

// wrote counts n bytes that were written to h.
func (i *Instance) wrote(h *handle, n int) {
	h.unsent, i.unsent = true, true
	i.unsentBytes += n
	h.queued += n
	i.queued += n
	if i.space() < 0 {
		i.caller.Trap(fmt.Errorf("messages under way hold more than %d bytes: %d bytes wait because the other side does not read them, and %d bytes belong to messages that are not complete",
			i.config.Limits.Quota, i.queued-i.callerBytes, i.inbound.total))
	}
}

// space returns how many more bytes the messages in transit may hold, in both directions: the
// messages that the guest collects, and the queued bytes that belong to no caller's message. It is
// below zero if they hold too many.
func (i *Instance) space() int {
	return i.config.Limits.Quota - i.inbound.total - (i.queued - i.callerBytes)
}

// recountQueued updates how many bytes written to h are still here. It assumes that the bytes of
// callers' messages leave last.
func (i *Instance) recountQueued(h *handle) {
	i.queued -= h.queued
	i.callerBytes -= h.callerBytes
	h.queued = h.stream.Queued()
	h.callerBytes = min(h.callerBytes, h.queued)
	i.queued += h.queued
	i.callerBytes += h.callerBytes
}

// stash copies bytes to memory that does not change until the next flush. If they do not fit, it
// takes new memory. It does not move earlier bytes, since streams refer to them, and each move
// would keep another copy alive.
func (i *Instance) stash(p []byte) []byte {
	if len(p) > cap(i.stashed)-len(i.stashed) {
		if len(p) > keepStash/4 {
			return bytes.Clone(p)
		}
		i.stashed = make([]byte, 0, min(max(2*cap(i.stashed), 2*len(p), 4<<10), keepStash))
	}
	from := len(i.stashed)
	i.stashed = append(i.stashed, p...)
	return i.stashed[from:]
}

func (i *Instance) flushHandle(h *handle) {
	if !h.unsent { // nothing was written, or the handle is closed
		return
	}
	h.unsent = false
	h.stream.Flush()
	if i.recountQueued(h); h.queued > i.config.Limits.HighWater {
		i.setBackpressured(h, true)
	}
}

// setBackpressured makes messages wait while a handle cannot take more.
func (i *Instance) setBackpressured(h *handle, choked bool) {
	if h.backpressured == choked {
		return
	}
	h.backpressured = choked
	i.mu.Lock()
	if choked {
		i.backpressured++
	} else {
		i.backpressured--
	}
	i.mu.Unlock()
}

// markEnding notes what the event that runs next ends. A handle that takes no more bytes holds no
// messages back. The end of an essential handle ends the connection, also if the guest closes the
// handle during the event. A process ends with its exit, every other handle with the end of its
// data.
func (i *Instance) markEnding(h *handle, it *item) {
	over := it.kind == abi.EventExit || it.kind == abi.EventError
	last := it.kind == abi.EventEnd ||
		it.kind == abi.EventData && it.arg&abi.Last != 0 ||
		it.kind == abi.EventHead && it.arg&abi.HeadLast != 0
	if over || last && h.kind == abi.OpenHTTP {
		i.setBackpressured(h, false)
	}
	it.essential = h.essential && (over || last && h.kind != abi.OpenProcess)
}

// closeExchange closes the handles of an exchange that was cancelled.
func (i *Instance) closeExchange(exchange uint32) {
	if exchange == 0 {
		return
	}
	for n := range i.handles {
		if h := &i.handles[n]; h.exchange == exchange { // else the handle is closed, or belongs to another exchange
			i.release(h)
		}
	}
}
