package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// Duplex is an open stream of bytes both ways. One goroutine runs serve for it; every other
// goroutine of the handle ends before serve returns. While the stream is paused, it has no
// goroutine.
type Duplex struct {
	capability.Slot
	writer writer
	serve  func(*Duplex)
	failed chan struct{}          // closed by the first fail
	paused bool                   // serve has called Pause; only the goroutine of serve uses it
	resume atomic.Pointer[func()] // ends the pause; nil before a pause
	woken  atomic.Bool            // Resume was called

	pipe     atomic.Pointer[ChildPipe] // the pipe that it follows; nil for none
	broken   atomic.Pointer[error]     // why the peer takes no more bytes; nil while it does
	failOnce sync.Once
	status   abi.Status // set before failed is closed
	cause    error
	unread   string // names what a stalled peer does not read
	peer     string // names the other side, for errors
}

// New returns a handle for which serve runs until the peer has ended the stream, the stream has
// failed, or the handle must end. When serve returns, nothing is left.
func New(o capability.Opening, serve func(*Duplex)) *Duplex {
	h := &Duplex{serve: serve, failed: make(chan struct{}), peer: "server"}
	h.Slot.Init(o)
	h.writer.init(h, h.Limits())
	return h
}

// Start is described at [capability.Handle].
func (h *Duplex) Start() { go h.run() }

// run runs the handle from its open to its end. Only run reports an error, so that in every kind
// this is the sink's last call.
func (h *Duplex) run() {
	if h.AwaitTurn() {
		h.serve(h)
	}
	if !h.paused {
		h.end()
	}
}

func (h *Duplex) end() {
	defer h.Remove()
	h.writer.close()
	h.Cancel(nil)
	if h.HasFailed() {
		h.Events.Error(h.status, h.cause)
	}
}

// Pause makes another goroutine continue the handle with then as soon as the handle must end, has
// failed, or Resume is called. serve must return right after Pause, so that no goroutine waits
// while all is well.
func (h *Duplex) Pause(then func()) {
	h.paused = true
	stop := context.AfterFunc(h.Context, h.Resume)
	resume := sync.OnceFunc(func() {
		go func() {
			stop()
			then()
			h.end()
		}()
	})
	h.resume.Store(&resume)
	if h.woken.Load() { // Resume may have run before resume was set
		resume()
	}
}

// Resume ends a pause, also one that has not begun yet. It may be called from anywhere, more than
// once, and does not wait.
func (h *Duplex) Resume() {
	h.woken.Store(true)
	if resume := h.resume.Load(); resume != nil {
		(*resume)()
	}
}

// Exit reports that a process has ended. The handle counts as ended before its sink learns of it,
// because the sink may want to open the next one at once.
func (h *Duplex) Exit(code int, detail string, unread bool) {
	h.Cancel(nil)
	h.Events.Exit(code, detail, unread)
}

// Write is described at [hostio.Stream].
func (h *Duplex) Write(p []byte, end bool) { h.writer.write(p, end) }

// Flush is described at [hostio.Stream].
func (h *Duplex) Flush() { h.writer.flush() }

// Queued is described at [hostio.Stream].
func (h *Duplex) Queued() int { return h.writer.queued() }

// Close is described at [hostio.Stream].
func (h *Duplex) Close() {
	h.writer.flush()
	h.End()
}

// Fail ends the handle with an error for its sink. Only the first failure counts.
func (h *Duplex) Fail(status abi.Status, err error) {
	h.failOnce.Do(func() {
		h.status, h.cause = status, err
		close(h.failed)
		h.Resume()
	})
}

// Attach sets where the write side sends to. unread names what a peer does not read when it stalls:
// "its stdin".
func (h *Duplex) Attach(p Output, unread string) {
	h.unread = unread
	h.writer.attach(p)
}

func (h *Duplex) drained() { h.Events.Drained() }

// stalled fails the handle with [abi.Stalled]. The write side calls it when the peer takes no bytes for too
// long.
func (h *Duplex) stalled() {
	h.Fail(abi.Stalled, fmt.Errorf("%s has not read %s for %s", h.peer, h.unread, h.writer.stall))
}

// broke is called by the write side when the peer takes no more bytes. The failure waits a moment
// for what the peer still says: a last answer or an exit status tells more than the broken pipe.
func (h *Duplex) broke(err error) {
	err = fmt.Errorf("%s stopped reading %s: %w", h.peer, h.unread, capability.Cause(err))
	h.broken.Store(&err)
	time.AfterFunc(h.Grace().Exit, func() { h.Fail(abi.Reset, err) })
}

// Carry listens to an attached peer until the handle is closed or has failed. The end of the data
// is not the end of the handle, because a peer that has ended its side may still read.
func (h *Duplex) Carry(in io.Reader, name string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Listen(in, name)
	}()
	select {
	case <-h.Context.Done():
		h.finish()
	case <-h.failed:
	}
	h.writer.close()
	<-done
}

// finish ends the stream in order: the written bytes are still sent, within the grace. It does not
// wait for a peer that has all of them.
func (h *Duplex) finish() {
	h.writer.finish()
	select {
	case <-h.WritingEnded():
	case <-h.failed:
	case <-h.Forced():
	case <-time.After(h.Grace().Stdin):
	}
}

// Follow passes on the bytes of in from now on. over is closed at the end.
func (h *Duplex) Follow(in *ChildPipe, name string) (over <-chan struct{}) {
	done := make(chan struct{})
	h.pipe.Store(in)
	in.Follow(func(p []byte) { h.Events.Data(p, false) }, func(err error) {
		h.heardAll(err, name)
		close(done)
	})
	return done
}

// ReadFor is described at [hostio.AnswerReader].
func (h *Duplex) ReadFor(w hostio.Waiter) {
	if in := h.pipe.Load(); in != nil {
		in.ReadFor(w)
	}
}

// Listen passes on the bytes of in. One chunk is in flight; if in is a [Reader], it holds none
// while nothing comes.
func (h *Duplex) Listen(in io.Reader, name string) {
	for {
		buf, n, err := readChunk(in)
		if n > 0 {
			h.Events.Data(buf[:n], false)
		}
		capability.PutChunk(buf)
		if errors.Is(err, io.EOF) {
			h.heardAll(nil, name)
			return
		}
		if err != nil {
			h.heardAll(err, name)
			return
		}
	}
}

// readChunk reads the next bytes of in into a chunk. The caller puts the chunk back into the pool.
func readChunk(in io.Reader) (buf *capability.Chunk, n int, err error) {
	if reader, waits := in.(*Reader); waits {
		return reader.next()
	}
	buf = capability.GetChunk()
	n, err = in.Read(buf[:])
	return buf, n, err
}

// heardAll reports that no more bytes come. err says why, and is nil at the end of the data.
func (h *Duplex) heardAll(err error, name string) {
	switch {
	case err == nil:
		h.Events.End()
	case errors.Is(err, net.ErrClosed): // we closed it, and the function that did says why
	default:
		h.Fail(capability.StatusOf(err, abi.Reset), fmt.Errorf("read %s: %w", name, capability.Cause(err)))
	}
}

// Failed is closed when the handle has failed.
func (h *Duplex) Failed() <-chan struct{} { return h.failed }

// FinishWriting closes the write side once all that was written is sent.
func (h *Duplex) FinishWriting() { h.writer.finish() }

// StopWriting drops the unsent bytes, and returns when no write is running.
func (h *Duplex) StopWriting() { h.writer.close() }

// WritingEnded is closed when the write side has ended: all bytes are sent or dropped.
func (h *Duplex) WritingEnded() <-chan struct{} { return h.writer.shut }

// HasFailed reports whether fail was called.
func (h *Duplex) HasFailed() bool {
	select {
	case <-h.failed:
		return true
	default:
		return false
	}
}

// Opener opens byte streams from a request that only names them. The function runs a stream until
// the peer has ended it, it has failed, or it must end.
type Opener func(*Duplex)

// Open implements [capability.Opener].
func (serve Opener) Open(o capability.Opening, r *abi.OpenRequest) (capability.Handle, abi.Status, error) {
	if r.Flags&^abi.Essential != 0 {
		return nil, abi.Malformed, fmt.Errorf("flags %#x do not apply to it", r.Flags)
	}
	if r.Method != "" || r.Target != "" || len(r.Headers) > 0 {
		return nil, abi.Malformed, fmt.Errorf("a method, a target and headers do not apply to it")
	}
	return New(o, serve), abi.OK, nil
}

// Close implements [capability.Opener]. An Opener keeps nothing between handles.
func (Opener) Close() {}
