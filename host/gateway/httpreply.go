package gateway

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/ctxcond"
)

const (
	writeTime = 30 * time.Second // how long a client may take for each part of a response
	writePart = 256 << 10        // bytes of a part
	quietTime = 15 * time.Second // after so long without an event, a comment shows that the stream lives
	maxQueued = 256 << 10        // bytes in an outbox; where there are more, awaitRoom waits
)

// outbox has the messages that wait for one HTTP response.
type outbox struct {
	// onSSE is called, without mu, when the response becomes a stream of events. If it returns
	// an id, the stream begins with an event that has this id and no data, so that the client
	// can resume before it has got any other event.
	onSSE func() (id string)

	mu        sync.Mutex
	queue     []event
	size      int           // bytes in queue
	ended     bool          // nothing more comes
	gone      bool          // serve has returned: what comes is dropped
	alwaysSSE bool          // the response is a stream even if it has only one message
	wake      chan struct{} // has a token when queue or ended has changed
	room      ctxcond.Cond  // size or gone has changed
}

// event is one message to a client.
type event struct {
	id     string // "" has none
	text   []byte
	status int // of the HTTP response if this is its only message; 0 is 200
}

func newOutbox(stream bool) *outbox {
	return &outbox{alwaysSSE: stream, wake: make(chan struct{}, 1)}
}

// put adds events. If end is true, no others follow. It does not wait.
func (o *outbox) put(end bool, events ...event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gone || o.ended {
		return
	}
	for _, e := range events {
		o.size += len(e.text)
	}
	o.queue, o.ended = append(o.queue, events...), end
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// awaitRoom waits while more than maxQueued bytes wait for the client, until ctx ends. It
// returns nil when the response has ended: serve ends a response whose client takes nothing
// for writeTime.
func (o *outbox) awaitRoom(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.size > maxQueued && !o.gone {
		if err := o.room.Await(ctx, &o.mu); err != nil {
			return err
		}
	}
	return nil
}

func (o *outbox) take() (events []event, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	events, o.queue, o.size = o.queue, nil, 0
	o.room.Broadcast()
	return events, o.ended
}

func (o *outbox) abandon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gone, o.queue, o.size = true, nil, 0
	o.room.Broadcast()
}

// serve writes the events of the outbox to the response, until the last event or the end of ctx. A
// single message is written as JSON, several as a stream of events. An error means that the client
// has not got all of them.
func (o *outbox) serve(ctx context.Context, w http.ResponseWriter) error {
	defer o.abandon()
	to := newClientWriter(w)
	quiet := time.NewTimer(quietTime)
	defer quiet.Stop()
	for begun, silent := false, false; ; {
		events, ended := o.take()
		switch {
		case ended && !begun && !o.alwaysSSE && len(events) == 1:
			return to.writeMessage(max(events[0].status, http.StatusOK), events[0].text)
		case !begun && (o.alwaysSSE || ended || silent || len(events) > 0):
			begun = true
			to.begin()
			if o.onSSE != nil {
				to.prime(o.onSSE())
			}
		case silent:
			to.write([]byte(":\n\n"))
		}
		for _, e := range events {
			to.event(e)
		}
		if silent = false; begun {
			to.flush()
		}
		if to.err != nil || ended {
			return to.end()
		}
		select {
		case <-ctx.Done():
			to.end()
			return context.Cause(ctx)
		case <-o.wake:
		case <-quiet.C:
			silent = true
		}
		quiet.Reset(quietTime)
	}
}

// clientWriter writes a response. Each part has writeTime. After an error it writes nothing more.
type clientWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

func newClientWriter(w http.ResponseWriter) *clientWriter {
	return &clientWriter{w: w, control: http.NewResponseController(w)}
}

// writeMessage writes a response of one message.
func (c *clientWriter) writeMessage(status int, message []byte) error {
	h := c.w.Header()
	h.Set("Content-Type", mediaJSON)
	h.Set("Content-Length", strconv.Itoa(len(message)))
	h.Set("X-Content-Type-Options", "nosniff")
	c.w.WriteHeader(status)
	c.write(message)
	return c.end()
}

// begin writes the head of a stream of events.
func (c *clientWriter) begin() {
	h := c.w.Header()
	h.Set("Content-Type", mediaEvents)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // of a proxy before this program
	h.Set("X-Content-Type-Options", "nosniff")
	c.w.WriteHeader(http.StatusOK)
}

func (c *clientWriter) prime(id string) {
	if id != "" {
		c.write([]byte("id: " + id + "\ndata:\n\n"))
	}
}

func (c *clientWriter) event(e event) {
	head := "event: message\n"
	if e.id != "" {
		head += "id: " + e.id + "\n"
	}
	c.write([]byte(head + "data: "))
	c.write(e.text)
	c.write([]byte("\n\n"))
}

func (c *clientWriter) write(p []byte) {
	for len(p) > 0 && c.err == nil {
		part := p[:min(len(p), writePart)]
		p = p[len(part):]
		c.control.SetWriteDeadline(time.Now().Add(writeTime)) // fails if the server has no deadlines, which does no harm
		_, c.err = c.w.Write(part)
	}
}

func (c *clientWriter) flush() {
	if c.err == nil {
		c.control.SetWriteDeadline(time.Now().Add(writeTime))
		c.control.Flush() // the next write reports a failure of this
	}
}

// end takes the write deadline off the connection, and returns the first error.
func (c *clientWriter) end() error {
	c.flush()
	c.control.SetWriteDeadline(time.Time{})
	return c.err
}
