package guest

import (
	"context"
	"runtime"
	"sync"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// Instance is one guest with one connection.
type Instance struct {
	plugin         string
	limits         Limits
	tracer         Tracer
	observer       Observer
	log            func(abi.Level, string)
	save           func([]byte)
	singleThreaded bool
	machine        Machine
	caller         Caller // the same in the middle of a host call
	manifest       abi.Manifest
	host           hostio.Host
	receiver       Receiver
	timers         hostio.Timers
	done           chan struct{} // closed by the owner that buried the guest
	stderr         stderrTail

	mu            sync.Mutex // guards what follows, never held while anything else is called
	owned         bool       // a goroutine runs the guest
	finished      bool       // nothing is accepted any more
	begun         bool       // there is a receiver
	up            bool       // messages may pass
	closing       bool       // CLOSE was said
	stopped       bool       // the end is next, whatever waits
	lostCause     error      // why, where it is not for Close
	opened        int        // handles
	backpressured int        // handles with more unsent bytes than the high-water mark
	urgent        queue
	normal        queue
	waiting       int           // bytes in normal
	room          chan struct{} // closed when normal shrinks; nil while no Send waits
	idle          idleState

	// What follows belongs to the owner.
	current     item      // the event that runs
	batch       []Message // handed over, to be freed after the next flush
	stashed     []byte    // written bytes that must stay until the next flush
	handles     []handle
	request     abi.OpenRequest // the one decoded last: the next is much the same
	queued      int             // bytes written that the systems have not taken, of all handles
	callerBytes int             // of them, those that callers answer for
	forwarded   int             // bytes of the current message that were forwarded on its caller's account
	answered    int             // callers that have had an answer since and may be about to send
	unsent      bool            // some handle was written to since the last flush
	inbound     partials
	fuel        fuelBucket
	closeHeard  bool  // the guest has heard CLOSE
	failure     error // why the guest must end; set once
}

// eventStop is no event of the ABI: it makes the owner bury the guest.
const eventStop abi.Kind = 0

// item is an event on its way to the guest.
type item struct {
	kind    abi.Kind
	handle  uint32
	arg     uint32
	payload []byte
	msg     Message       // of a MESSAGE
	seen    chan struct{} // gets a token when the guest is done with the payload
	cause   error         // of an ERROR or EXIT, for the user; of the end, where it is not for Close
	length  int64         // of a HEAD: of the body
	buffer  *[]byte       // where the payload of a HEAD is, unless a Head waits for it

	essential bool // it may end the connection, whatever the guest makes of it
	forwarded bool // the guest has forwarded of its sealed payload
}

func newInstance(c Config) *Instance {
	i := &Instance{
		plugin: c.Plugin, limits: c.Limits, tracer: c.Trace, observer: c.Observer, log: c.Log, save: c.Save,
		singleThreaded: c.SingleThreaded, done: make(chan struct{}),
	}
	i.fuel = newFuelBucket(c.Limits.FuelRate)
	return i
}

// post puts an event in the urgent lane and runs the guest if it is free.
func (i *Instance) post(it item) error {
	i.mu.Lock()
	if i.finished {
		i.mu.Unlock()
		it.drop()
		return &UnsentError{Cause: i.failure} // which stays as it is
	}
	i.urgent.push(it)
	i.runUnlock()
	return nil
}

// SendClose tells the guest, once, that its connection is not wanted any more. It
// is the first half of Close, for who sees to the second half himself.
func (i *Instance) SendClose() {
	i.mu.Lock()
	again := i.closing
	i.closing = true
	i.mu.Unlock()
	if !again {
		i.post(item{kind: abi.EventClose})
	}
}

// stop makes the owner bury the guest, before anything that waits: a guest that
// is slow with each event may have many of them.
func (i *Instance) stop() {
	i.mu.Lock()
	if i.finished {
		i.mu.Unlock()
		return
	}
	i.stopped = true
	i.runUnlock()
}

// runOrPost runs an urgent event at once if the guest is free, and leaves it to the
// owner if not.
func (i *Instance) runOrPost(it item) {
	i.mu.Lock()
	if i.freeLocked() {
		i.runNow(&it)
		return
	}
	i.mu.Unlock()
	i.post(it)
}

// runAndWait runs an event whose payload is the caller's, and returns when the guest
// is done with it or gone. seen is where an owner tells that, if there is one; it is
// made when it is needed.
func (i *Instance) runAndWait(it item, seen *chan struct{}) {
	i.mu.Lock()
	if i.freeLocked() {
		i.runNow(&it)
		return
	}
	i.mu.Unlock()
	if *seen == nil {
		*seen = make(chan struct{}, 1)
	}
	it.seen = *seen
	i.post(it)
	<-it.seen
}

// send puts a message in the normal lane, waiting for room if it must.
func (i *Instance) send(ctx context.Context, it item) error {
	i.mu.Lock()
	if i.freeLocked() && i.normal.empty() && i.passableLocked() {
		i.runNow(&it)
		return nil
	}
	for !i.finished && i.waiting > 0 && i.waiting+len(it.payload) > i.limits.Mailbox {
		room := i.roomLocked()
		i.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			it.drop()
			return context.Cause(ctx)
		}
		i.mu.Lock()
	}
	if i.finished {
		i.mu.Unlock()
		it.drop()
		return &UnsentError{Cause: i.failure} // which stays as it is
	}
	i.normal.push(it)
	i.waiting += len(it.payload)
	i.runUnlock()
	return nil
}

func (i *Instance) roomLocked() chan struct{} {
	if i.room == nil {
		i.room = make(chan struct{})
	}
	return i.room
}

// withdraw takes a waiting message out of the normal lane.
func (i *Instance) withdraw(exchange uint32) Message {
	i.mu.Lock()
	defer i.mu.Unlock()
	it, ok := i.normal.remove(exchange)
	if !ok {
		return nil
	}
	i.tookLocked(len(it.payload))
	return it.msg
}

// tookLocked accounts for n bytes that left the normal lane.
func (i *Instance) tookLocked(n int) {
	i.waiting -= n
	if i.room != nil {
		close(i.room)
		i.room = nil
	}
}

// nextLocked takes the event that is to run as the owner's n-th. A message may
// go first now and then, because a server that always has something to say
// would hold messages up for ever.
func (i *Instance) nextLocked(n int) (item, bool) {
	if i.stopped {
		return item{kind: eventStop, cause: i.lostCause}, true
	}
	if n%flushEvery == 0 {
		if it, ok := i.messageLocked(); ok {
			return it, true
		}
	}
	if it, ok := i.urgent.pop(); ok {
		return it, true
	}
	return i.messageLocked()
}

// messageLocked takes the next message, if the guest may have it.
func (i *Instance) messageLocked() (item, bool) {
	if !i.passableLocked() {
		return item{}, false
	}
	it, ok := i.normal.pop()
	if ok {
		i.tookLocked(len(it.payload))
	}
	return it, ok
}

// passableLocked reports whether the guest may have a message now.
func (i *Instance) passableLocked() bool {
	return i.up && i.backpressured == 0 && i.opened <= abi.MaxHandles-spareHandles
}

// freeLocked reports whether an event may be run at once: no goroutine runs the
// guest, and nothing waits that has to come first.
func (i *Instance) freeLocked() bool { return !i.owned && !i.finished && i.urgent.empty() }

// An owner lets others have a turn after this many events: its caller waits
// for an answer of its own. Writes are flushed at least this often.
const (
	ownerTurn  = 64
	flushEvery = 64
)

// runUnlock makes this goroutine the owner unless there is one, and runs what
// is in the mailbox. It is called with mu held and returns without it.
func (i *Instance) runUnlock() {
	if i.owned {
		i.mu.Unlock()
		return
	}
	i.owned = true
	i.runOwned()
}

// runNow makes this goroutine the owner and runs it, past the mailbox, and then
// the mailbox. It is called with mu held and returns without it.
func (i *Instance) runNow(it *item) {
	i.owned = true
	i.mu.Unlock()
	i.run(it)
	if i.failure != nil {
		i.finish()
		return
	}
	i.mu.Lock()
	i.runOwned()
}

// runOwned runs the mailbox until it is empty. The owner calls it with mu held.
func (i *Instance) runOwned() {
	for n := 1; ; n++ {
		it, ok := i.nextLocked(n)
		if !ok && !i.needsFlush() {
			i.owned = false
			i.watchIdleLocked()
			i.mu.Unlock()
			return
		}
		i.mu.Unlock()
		switch {
		case ok:
			i.run(&it)
		case i.yieldOnce():
		default:
			i.flush()
		}
		if n%flushEvery == 0 {
			i.flush()
		}
		if i.failure != nil {
			i.finish()
			return
		}
		if n >= ownerTurn && !i.singleThreaded {
			go i.resume()
			return
		}
		i.mu.Lock()
	}
}

// yieldOnce gives other callers a chance to leave their messages before the flush:
// those whose answers came together send together, and one system call is
// enough for all. It reports whether it did; that happens once for each batch
// of answers, and never for a caller that is alone.
func (i *Instance) yieldOnce() bool {
	if i.answered <= 0 {
		return false
	}
	i.answered = 0
	runtime.Gosched()
	return true
}

// resume goes on as the owner on a goroutine of its own; it ends when the
// mailbox is empty or the guest is gone.
func (i *Instance) resume() {
	i.mu.Lock()
	i.runOwned()
}

// queue is a first-in, first-out list that reuses its memory.
type queue struct {
	items []item
	head  int
}

func (q *queue) empty() bool { return q.head == len(q.items) }

func (q *queue) push(it item) {
	if len(q.items) == cap(q.items) && 2*q.head > len(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, it)
}

func (q *queue) pop() (item, bool) {
	if q.head == len(q.items) {
		return item{}, false
	}
	it := q.items[q.head]
	q.items[q.head] = item{}
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return it, true
}

// remove takes out the MESSAGE of an exchange.
func (q *queue) remove(exchange uint32) (item, bool) {
	for n := q.head; n < len(q.items); n++ {
		if q.items[n].arg == exchange {
			it := q.items[n]
			copy(q.items[n:], q.items[n+1:])
			q.items[len(q.items)-1] = item{}
			q.items = q.items[:len(q.items)-1]
			return it, true
		}
	}
	return item{}, false
}

// drop lets go of an event that will not run.
func (it *item) drop() {
	if it.msg != nil {
		it.msg.Free()
	}
	it.release()
}

// release gives the payload of an event back.
func (it *item) release() {
	if it.seen != nil {
		it.seen <- struct{}{}
	}
	if it.buffer != nil {
		freeHead(it.buffer)
	}
}
