package rpc

import (
	"context"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/ctxcond"
)

// asyncSender sends messages that no caller waits for: error replies and cancellations. Deliver
// must not call the link, and a caller that leaves must not wait for the link, so both queue their
// messages here. One goroutine sends them. It ends when the queue is empty. Once the connection has
// ended, the link refuses the rest.
type asyncSender struct {
	transmit func(context.Context, *Message) error
	ctx      context.Context // ends with the connection

	mu      sync.Mutex
	queue   []queued
	sending int // messages of the batch that was taken last
	running bool
	closed  bool
	room    ctxcond.Cond // the queue was taken
	keepAll bool         // the queue has no bound but awaitRoom
	dropped uint64
}

// queued is a message or a mark. A mark is closed when the link was given every message queued
// before it.
type queued struct {
	m    *Message
	mark chan struct{}
}

// maxUnsent is the most messages that wait to be sent. Further ones are dropped, because the server
// may not read at all.
const maxUnsent = 256

// post takes ownership of m and returns at once.
func (s *asyncSender) post(m *Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.queue) >= maxUnsent && !s.keepAll {
		s.dropped++
		m.Free()
		return
	}
	s.queue = append(s.queue, queued{m: m})
	if !s.running {
		s.running = true
		go s.run()
	}
}

func (s *asyncSender) run() {
	var batch []queued
	for s.take(&batch) {
		for i, q := range batch {
			batch[i] = queued{}
			if q.mark != nil {
				close(q.mark)
				continue
			}
			if s.transmit(s.ctx, q.m) != nil {
				s.mu.Lock()
				s.dropped++
				s.mu.Unlock()
			}
		}
	}
}

// take swaps the queue for the batch that was sent. It returns false, and the goroutine
// ends, when the queue is empty.
func (s *asyncSender) take(batch *[]queued) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue, *batch = (*batch)[:0], s.queue
	s.sending = len(*batch)
	s.running = s.sending > 0
	s.room.Broadcast()
	return s.running
}

// flush waits until the link was given every message that was posted before, or until ctx ends.
func (s *asyncSender) flush(ctx context.Context) error {
	s.mu.Lock()
	if !s.running { // the queue is empty
		s.mu.Unlock()
		return nil
	}
	mark := make(chan struct{})
	s.queue = append(s.queue, queued{mark: mark})
	s.mu.Unlock()
	select {
	case <-mark:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close drops the queued messages, and makes post drop all later ones.
func (s *asyncSender) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, q := range s.queue {
		if q.mark != nil {
			close(q.mark)
		} else {
			q.m.Free()
		}
	}
	s.queue = nil
	s.room.Broadcast()
}

// awaitRoom waits until fewer than maxUnsent messages have yet to be given to the link, or until
// ctx ends.
func (s *asyncSender) awaitRoom(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue)+s.sending >= maxUnsent && !s.closed {
		if err := s.room.Await(ctx, &s.mu); err != nil {
			return err
		}
	}
	return nil
}

// unsent returns how many messages were dropped.
func (s *asyncSender) unsent() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}
