package guest

import (
	"cmp"
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// handleEvent passes one event to the guest. The owner calls it.
func (i *Instance) handleEvent(it *item) {
	i.idle.events++
	if it.kind == eventStop {
		i.fail(cmp.Or(it.cause, ErrClosed))
		return
	}
	if !i.admit(it) {
		it.drop()
		return
	}
	result, err := i.enter(it)
	switch {
	case err != nil:
		i.fail(i.crashed(it.kind.String(), err))
	case result < 0:
		i.fail(i.pluginError(it.kind.String(), gaveUpError(result)))
	}
	i.finishEvent(it)
}

// gaveUpError returns the error for a result below zero.
func gaveUpError(result int32) error { return fmt.Errorf("the plugin gave up: %v", abi.Status(result)) }

// admit drops events of closed handles. For other events it updates the state of the instance
// before the guest gets them.
func (i *Instance) admit(it *item) bool {
	switch it.kind {
	case abi.EventOpened, abi.EventHead, abi.EventData, abi.EventEnd, abi.EventError,
		abi.EventExit, eventDrained:
		h := i.lookup(it.handle)
		if h == nil {
			return it.kind == abi.EventError && it.handle == 0
		}
		if it.kind == eventDrained {
			i.recountQueued(h)
			i.setBackpressured(h, false)
			return false
		}
		if it.kind == abi.EventHead {
			h.status, h.length, h.wait = int(it.arg&0xffff), it.length, it.wait
		}
		it.message = h.message
		i.markEnding(h, it)
	case abi.EventTimer:
		return i.timers.Claim(it.handle)
	case abi.EventClose:
		i.closeHeard = true
	}
	return true
}

// enter calls the guest with an event and its payload. The budget grows with the payload.
func (i *Instance) enter(it *item) (int32, error) {
	i.current, i.forwarded = *it, 0
	if it.kind == abi.EventData {
		i.answered = 0
	}
	e := Event{it.kind, it.handle, it.arg, uint32(len(it.payload)), it.payload}
	if it.sealed() {
		e.Payload = nil
	}
	i.observeEvent(e)
	earned := earnedBy(len(it.payload))
	result, err := i.executor.Run(wasm.EventBudget+earned, e)
	i.observeReturn(result, err)
	used := i.executor.Used()
	if err == nil && !i.fuel.spend(used-i.fuel.credit(it, min(earned, used)), time.Now) {
		err = errFuel
	}
	return result, err
}

// finishEvent completes an event that the guest has handled. The reader of a chunk goes on, a
// message waits for the flush, and the end of an essential handle ends the connection.
func (i *Instance) finishEvent(it *item) {
	it.release()
	if it.msg != nil {
		i.batch = append(i.batch, it.msg)
		i.answered--
	}
	switch {
	case it.sealed():
		if !i.current.forwarded && i.failure == nil && i.config.Log != nil {
			i.config.Log(abi.LevelWarn, sealedUnused)
		}
		i.current = item{} // this drops the payload too
	case it.essential:
		if it.cause == nil {
			it.cause = errServerClosed
		}
		i.fail(&EndedError{Cause: it.cause})
	case it.kind == abi.EventCancel:
		i.forget(it.arg)
		i.closeExchange(it.arg)
	}
}

// flush passes the written bytes to the kernel, and frees the messages that they belong to. The
// owner calls it without mu.
func (i *Instance) flush() {
	if i.unsent {
		i.unsent, i.unsentBytes = false, 0
		for n := range i.handles {
			i.flushHandle(&i.handles[n])
		}
	}
	for n, m := range i.batch {
		m.Free()
		i.batch[n] = nil
	}
	i.batch, i.stashed = i.batch[:0], i.stashed[:0]
}

// finish ends the guest for good. The owner calls it once, without mu, and stays the owner for
// ever, so that the guest never runs again.
func (i *Instance) finish() {
	i.mu.Lock()
	i.finished = true
	left := append(i.urgent.items[i.urgent.head:], i.normal.items[i.normal.head:]...)
	i.urgent, i.normal = queue{}, queue{}
	i.tookLocked(i.waiting)
	if i.idle.timer != nil {
		i.idle.timer.Stop()
	}
	i.mu.Unlock()

	i.flush()
	for n := range left {
		if left[n].msg != nil && i.receiver != nil {
			i.receiver.Failed(left[n].arg, &UnsentError{Cause: i.failure})
		}
		left[n].drop()
	}
	if i.timers != nil {
		i.timers.Stop()
	}
	for n := range i.handles {
		if i.handles[n].stream != nil {
			i.handles[n].stream.Close()
		}
	}
	i.executor.Close()
	if i.receiver != nil {
		i.receiver.Close(i.failure)
	}
	close(i.done)
}

// describe runs DESCRIBE. No other goroutine has the instance yet.
func (i *Instance) describe() error {
	result, err := i.enter(&item{kind: abi.EventDescribe})
	switch {
	case err != nil:
	case result < 0:
		err = gaveUpError(result)
	case i.manifest.Name == "":
		err = errNoManifest
	default:
		return i.failure
	}
	return i.pluginError("describe", err)
}

// sealedUnused follows the name of the plugin in an error.
const sealedUnused = "it opened a stream and did not forward what signs in to the server: the blob of the auth provider was dropped"
