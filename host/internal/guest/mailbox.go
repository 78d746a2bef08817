package guest

import (
	"context"
	"runtime"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// post puts an event in the urgent lane, and has the guest handle it now if it is free.
func (i *Instance) post(it *item) error {
	i.mu.Lock()
	if i.finished {
		i.mu.Unlock()
		it.drop()
		return &UnsentError{Cause: i.failure} // which stays as it is
	}
	i.urgent.push(*it)
	i.ownAndDrain()
	return nil
}

// SendClose posts CLOSE once, to tell the guest that its connection is no longer wanted. It is the
// first half of Close, for a caller that ends the guest in another way.
func (i *Instance) SendClose() {
	i.mu.Lock()
	again := i.closing
	i.closing = true
	i.mu.Unlock()
	if !again {
		i.post(&item{kind: abi.EventClose})
	}
}

// stop makes the owner end the guest before it handles the events that wait: a guest that is slow
// may have many of them.
func (i *Instance) stop() {
	i.mu.Lock()
	if i.finished {
		i.mu.Unlock()
		return
	}
	i.stopped = true
	i.ownAndDrain()
}

// handleOrPost has the guest handle an urgent event at once if it is free. Otherwise it leaves the
// event to the owner. If seen is not nil, the payload stays the caller's, and handleOrPost returns
// when the guest has handled it or ended. It makes the channel in *seen when it first has to wait
// for an owner.
func (i *Instance) handleOrPost(it item, seen *chan struct{}) {
	i.mu.Lock()
	if i.canRunLocked() {
		i.ownAndHandle(&it)
		return
	}
	i.mu.Unlock()
	if seen == nil {
		i.post(&it)
		return
	}
	if *seen == nil {
		*seen = make(chan struct{}, 1)
	}
	it.seen = *seen
	i.post(&it)
	<-it.seen
}

// Send gives m to the guest and takes ownership of it. It waits only while the mailbox is full,
// until ctx is done. An error means that m was certainly not sent.
func (i *Instance) Send(ctx context.Context, m Message) error {
	var it item
	payload, start := m.Payload()
	it.kind, it.handle, it.arg, it.payload, it.msg = abi.EventMessage, uint32(start), m.Exchange(), payload, m
	if m.Urgent() {
		return i.post(&it)
	}
	i.mu.Lock()
	if i.canRunLocked() && i.normal.empty() && i.passableLocked() {
		m.Placed()
		i.ownAndHandle(&it)
		return nil
	}
	return i.queueLocked(ctx, &it)
}

// queueLocked is Send for a guest that has to handle other events first. It unlocks mu.
func (i *Instance) queueLocked(ctx context.Context, it *item) error {
	for !i.finished && i.waiting > 0 && i.waiting+len(it.payload) > i.config.Limits.Mailbox {
		if err := i.room.Await(ctx, &i.mu); err != nil {
			i.mu.Unlock()
			it.drop()
			return err
		}
	}
	if i.finished {
		i.mu.Unlock()
		it.drop()
		return &UnsentError{Cause: i.failure} // which stays as it is
	}
	it.msg.Placed()
	i.normal.push(*it)
	i.waiting += len(it.payload)
	i.ownAndDrain()
	return nil
}

// AwaitSent waits until no more than most bytes of messages wait for the guest, or until ctx ends,
// or the guest is gone. Urgent messages do not count. The messages that the guest has got by then
// are with the streams before a later CLOSE.
func (i *Instance) AwaitSent(ctx context.Context, most int) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for i.waiting > most && !i.finished {
		if err := i.room.Await(ctx, &i.mu); err != nil {
			return err
		}
	}
	return nil
}

// Waiting returns how many bytes of messages wait for the guest. Urgent messages do not count.
func (i *Instance) Waiting() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.waiting
}

// ReadFor implements [hostio.AnswerReader] for the process that the guest has started last. Without
// a process there is nothing to read.
func (i *Instance) ReadFor(w hostio.Waiter) {
	if r := i.answers.Load(); r != nil {
		(*r).ReadFor(w)
	}
}

// Cancel tells the guest that the caller of the exchange no longer waits. It returns true if the
// message was still in the mailbox: then it is dropped, the server will never see it, and the guest
// is told nothing.
func (i *Instance) Cancel(exchange uint32) (unsent bool) {
	i.mu.Lock()
	it, unsent := i.normal.remove(exchange)
	if unsent {
		i.tookLocked(len(it.payload))
	}
	i.mu.Unlock()
	if unsent {
		it.msg.Free()
	} else {
		i.post(&item{kind: abi.EventCancel, arg: exchange})
	}
	return unsent
}

// nextLocked takes the next event, the n-th of the present owner, and reports whether there is one. Urgent
// events go first, except that every flushEvery-th event is a message: otherwise a server that sends without
// end could hold messages up for ever.
func (i *Instance) nextLocked(n int, it *item) bool {
	if i.stopped {
		*it = item{kind: eventStop, cause: i.lostCause}
		return true
	}
	return n%flushEvery == 0 && i.messageLocked(it) || i.urgent.pop(it) || i.messageLocked(it)
}

// messageLocked takes the next message, if there is one and the guest may get it.
func (i *Instance) messageLocked(it *item) bool {
	if !i.passableLocked() || !i.normal.pop(it) {
		return false
	}
	i.tookLocked(len(it.payload))
	return true
}

// passableLocked reports whether the guest may get a message now.
func (i *Instance) passableLocked() bool {
	return i.up && i.backpressured == 0 && i.opened <= abi.MaxHandles-spareHandles
}

// canRunLocked reports whether an event may be run at once: the guest has no owner, and no urgent
// event waits.
func (i *Instance) canRunLocked() bool { return !i.owned && !i.finished && i.urgent.empty() }

// After this many events an owner hands over to another goroutine, because its caller waits for an
// answer of its own. Writes are flushed at least this often.
const (
	ownerTurn  = 64
	flushEvery = 64
	flushBytes = 64 << 10 // and when so many are written: a pipe takes no more, and they are still in the cache
)

// spareHandles is how many handles messages must leave free. A guest may need one for itself: to
// listen, to resume, to end its session.
const spareHandles = 8

// ownAndDrain makes this goroutine the owner if there is none, and drains the mailbox. It is called
// with mu held and returns without it.
func (i *Instance) ownAndDrain() {
	if i.owned {
		i.mu.Unlock()
		return
	}
	i.owned = true
	i.drainMailbox()
}

// ownAndHandle makes this goroutine the owner, has the guest handle it, and then drains the mailbox.
// It is called with mu held and returns without it.
func (i *Instance) ownAndHandle(it *item) {
	i.owned = true
	i.mu.Unlock()
	i.handleEvent(it)
	if i.failure != nil {
		i.finish()
		return
	}
	i.mu.Lock()
	i.drainMailbox()
}

// drainMailbox has the guest handle what is in the mailbox, until that is empty or the guest has
// ended. After a while another goroutine goes on. The owner calls it with mu held, and returns
// without it.
func (i *Instance) drainMailbox() {
	var it item
	for n := 1; ; n++ {
		ok := i.nextLocked(n, &it)
		if !ok && !i.unsent && len(i.batch) == 0 {
			i.owned = false
			i.watchIdleLocked()
			i.mu.Unlock()
			return
		}
		i.mu.Unlock()
		switch {
		case ok:
			i.handleEvent(&it)
		case i.yieldOnce():
		default:
			i.flush()
		}
		if n%flushEvery == 0 || i.unsentBytes >= flushBytes {
			i.flush()
		}
		if i.failure != nil {
			i.finish()
			return
		}
		if n >= ownerTurn && !i.config.SingleThreaded {
			go i.lockAndDrain()
			return
		}
		i.mu.Lock()
	}
}

// yieldOnce lets other goroutines run before the flush, if answers have come since it last yielded.
// Callers whose answers came together can then post their next messages, and one system call sends
// all of them. It reports whether it yielded. It never yields if only one caller waits.
func (i *Instance) yieldOnce() bool {
	if i.answered <= 0 {
		return false
	}
	i.answered = 0
	runtime.Gosched()
	return true
}

// lockAndDrain is drainMailbox for an owner that does not hold mu.
func (i *Instance) lockAndDrain() {
	i.mu.Lock()
	i.drainMailbox()
}

// watchIdleLocked arms the timer that detects an idle guest. The owner calls it last. For most
// messages it costs one comparison.
func (i *Instance) watchIdleLocked() {
	r := &i.idle
	if r.armed || i.config.SingleThreaded || r.events == r.rested {
		return
	}
	r.armed, r.seen = true, r.events
	if r.timer == nil {
		r.timer = time.AfterFunc(idleAfter, i.checkIdle)
		return
	}
	r.timer.Reset(idleAfter)
}

// checkIdle runs when the timer fires. If an event ran meanwhile, it arms the timer again.
// Otherwise it becomes the owner and lets the guest rest. Events wait in the mailbox for that time,
// less than a millisecond.
func (i *Instance) checkIdle() {
	i.mu.Lock()
	r := &i.idle
	r.armed = false
	if i.owned || i.finished { // the owner arms the timer at its end
		i.mu.Unlock()
		return
	}
	if r.events != r.seen {
		i.watchIdleLocked()
		i.mu.Unlock()
		return
	}
	r.rested = r.events
	i.owned = true
	i.mu.Unlock()
	i.releaseBuffers()
	if i.failure != nil {
		i.finish()
		return
	}
	i.lockAndDrain()
}

// releaseBuffers frees the buffers that the next event makes again. The owner calls it.
func (i *Instance) releaseBuffers() {
	i.inbound.spare, i.stashed, i.batch = nil, nil, nil
	if err := i.executor.Rest(); err != nil {
		i.fail(i.pluginError("rest", err))
	}
}
