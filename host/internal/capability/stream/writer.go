package stream

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability"
)

const (
	smallCap = 16 << 10  // the most bytes that are copied together before a flush
	smallMax = 2 << 10   // the longest piece that is cheaper to copy than to name in a writev
	keepMax  = 256 << 10 // the most bytes of buffers that an idle writer keeps
)

// writer is the write side of a handle.
//
// The owner collects bytes with write and offers them with flush: small pieces
// are copied together, large ones only named, and one writev takes them all.
// That is the whole of the common path; no goroutine wakes and nothing is
// allocated. What the system does not take goes into a backlog, and a goroutine
// drains it for as long as there is one. While it runs, flush only appends.
type writer struct {
	tell  writerEvents
	stall time.Duration
	low   int

	// Used by the owner only:
	segs     [][]byte        // what flush offers next, in order
	small    []byte          // the copied pieces that segs point into; nil while it is empty
	smallBuf *[smallCap]byte // the array of small, from smallBufs
	joined   bool            // the last segment is the end of small
	ending   bool            // write was called with end

	unsent atomic.Int64 // the result of Queued
	taken  atomic.Int64 // bytes of backlogs that were sent

	// Guarded by mu:
	mu       sync.Mutex
	out      Output // nil until there is something to send to
	ended    bool   // nothing follows the backlog
	over     bool   // broken, shut or closed: no more bytes are sent
	draining bool   // a goroutine owns the output
	aboveLow bool   // a flush left more than low
	backlog  []byte
	spare    []byte         // an emptied backlog
	shut     chan struct{}  // closed with over
	drainer  sync.WaitGroup // the goroutine that owns the output
}

// writerEvents receives the events of a write side.
type writerEvents interface {
	drained()        // the queue fell to the low-water mark
	stalled()        // the peer has taken no bytes for too long
	broke(err error) // the peer takes no more bytes; called with the writer locked
}

// init makes a writer.
func (o *writer) init(tell writerEvents, limits *capability.Limits) {
	o.tell, o.stall, o.low = tell, limits.Stall, limits.LowWater
	o.shut = make(chan struct{})
}

func (o *writer) queued() int { return int(o.unsent.Load()) }

// write is [hostio.Stream.Write]. It takes no lock, because drain uses none of the fields that
// write uses.
func (o *writer) write(p []byte, end bool) {
	if o.ending {
		return
	}
	o.ending = end
	if len(p) == 0 {
		return
	}
	o.unsent.Add(int64(len(p)))
	if o.small == nil && len(p) <= smallMax {
		o.smallBuf = smallBufs.Get().(*[smallCap]byte)
		o.small = o.smallBuf[:0]
	}
	if len(p) > smallMax || len(o.small)+len(p) > smallCap {
		o.segs, o.joined = append(o.segs, p), false
		return
	}
	from := len(o.small)
	o.small = append(o.small, p...)
	if o.joined { // the last segment grows
		last := &o.segs[len(o.segs)-1]
		*last = (*last)[:len(*last)+len(p)]
		return
	}
	o.segs, o.joined = append(o.segs, o.small[from:]), true
}

// flush is [hostio.Stream.Flush]. The lock is held over the system call, which cannot
// wait: all other users of the lock concern the same descriptor.
func (o *writer) flush() {
	if len(o.segs) == 0 && !o.ending {
		return
	}
	o.mu.Lock()
	o.ended = o.ended || o.ending
	rest := o.segs
	if o.out != nil && !o.draining && !o.over {
		rest = o.push(rest)
	}
	o.keep(rest)
	o.mu.Unlock()
	clear(o.segs)
	o.segs, o.joined = o.segs[:0], false
	if o.small != nil {
		smallBufs.Put(o.smallBuf)
		o.smallBuf, o.small = nil, nil
	}
}

// smallBufs holds the buffers of small pieces. A writer has one only from a write until the flush.
var smallBufs = sync.Pool{New: func() any { return new([smallCap]byte) }}

// push offers segs to the system and returns the bytes that it did not take. A pipe that is too
// small for a message is grown and tried once more.
func (o *writer) push(segs [][]byte) [][]byte {
	for len(segs) > 0 {
		n, err := o.out.Try(segs)
		o.unsent.Add(int64(-n))
		segs = advance(segs, n)
		if err != nil {
			o.breakOff(err)
			return nil
		}
		if len(segs) > 0 && !o.out.Grow() {
			break
		}
	}
	return segs
}

// keep copies the rest of a flush into the backlog. It makes sure that the backlog is sent, or that
// the write side is shut after the last byte.
func (o *writer) keep(segs [][]byte) {
	if o.over {
		o.drop()
		return
	}
	n := 0
	for _, s := range segs {
		n += len(s)
	}
	o.backlog = slices.Grow(o.backlog, n)
	for _, s := range segs {
		o.backlog = append(o.backlog, s...)
	}
	o.aboveLow = o.aboveLow || o.queued() > o.low
	o.proceed()
}

// proceed starts drain or shuts the write side, if either is due.
func (o *writer) proceed() {
	switch {
	case o.out == nil || o.draining || o.over:
	case len(o.backlog) > 0:
		o.draining = true
		o.drainer.Go(o.drain)
	case o.ended:
		o.out.Shut()
		o.stop()
	}
}

// attach sets the output of the writer, and sends the bytes that were written before.
func (o *writer) attach(p Output) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out = p
	o.proceed()
}

// finish shuts the write side once the backlog is sent, and closes shut.
func (o *writer) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.proceed()
}

// close drops the unsent bytes, and returns when no goroutine uses the output.
func (o *writer) close() {
	o.mu.Lock()
	if o.out != nil {
		o.out.Close()
	}
	o.stop()
	o.mu.Unlock()
	o.drainer.Wait()
}

// drain sends the backlog. It owns the output until the backlog is empty.
func (o *writer) drain() {
	watch := time.AfterFunc(o.stall, o.tell.stalled)
	defer watch.Stop()
	for batch := o.take(); len(batch) > 0; batch = o.take() {
		for len(batch) > 0 {
			n, err := o.out.Wait(batch)
			if err != nil {
				o.mu.Lock()
				o.breakOff(err)
				o.mu.Unlock()
				return
			}
			watch.Reset(o.stall)
			batch = batch[n:]
			o.sent(n)
		}
	}
}

// take returns the backlog, and makes the last batch the buffer of the next one. It returns nil
// when drain has to end.
func (o *writer) take() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.backlog) > 0 && !o.over {
		o.backlog, o.spare = o.spare[:0], o.backlog
		return o.spare
	}
	o.draining = false
	if cap(o.backlog)+cap(o.spare) > keepMax {
		o.backlog, o.spare = nil, nil
	}
	o.proceed()
	return nil
}

// sent counts n bytes that were sent. If the queue thereby fell to the low-water mark, it tells the
// sink.
func (o *writer) sent(n int) {
	o.mu.Lock()
	if !o.over {
		o.unsent.Add(int64(-n))
	}
	o.taken.Add(int64(n))
	drained := o.aboveLow && o.queued() <= o.low && !o.over
	o.aboveLow = o.aboveLow && !drained
	o.mu.Unlock()
	if drained {
		o.tell.drained()
	}
}

// breakOff ends the writer because the peer takes no more bytes. It does not tell the sink that the
// queue drained, so that callers that wait for room send nothing more.
func (o *writer) breakOff(err error) {
	if !o.over {
		o.stop()
		o.tell.broke(err)
	}
}

// stop makes the writer drop all bytes that are queued now or written later.
func (o *writer) stop() {
	if !o.over {
		o.over = true
		close(o.shut)
	}
	o.drop()
}

// drop drops the queued bytes.
func (o *writer) drop() {
	o.backlog = nil
	o.unsent.Store(0)
}

// advance returns segs without their first n bytes.
func advance(segs [][]byte, n int) [][]byte {
	for len(segs) > 0 && n >= len(segs[0]) {
		n -= len(segs[0])
		segs = segs[1:]
	}
	if n > 0 {
		segs[0] = segs[0][n:]
	}
	return segs
}
