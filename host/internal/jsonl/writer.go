// Package backlog lets many goroutines leave what is to be written down to one
// that writes. Whoever leaves something never waits for a disk: a batch gathers
// while the one before it is written.
package jsonl

import (
	"context"
	"sync"
)

// Batch is what gathers, by the pointer to it.
type Batch[B any] interface {
	*B
	Empty() bool // there is nothing to write
	Reset()      // makes it empty, for another use
}

// Scribe writes batches down. It is used by one goroutine.
type Scribe[B any] interface {
	Begin()
	Write(b *B)
	Flush()     // has what was written reach the file
	End() error // closes the file; an error says that it is not complete
}

// Backlog is what waits for a [Scribe]. The zero value takes what is left to it, and
// writes nothing before Start. It may be used from any goroutine.
type Backlog[B any, P Batch[B]] struct {
	done chan struct{} // closed when the writer has left
	err  error         // of the writer, once done is closed

	mu      sync.Mutex
	more    sync.Cond // on mu: there is something to take
	batch   B
	flushed []chan struct{} // to be closed when all of the batch is in the file
	closed  bool
}

// Start has a goroutine write what is left, until Close.
func (l *Backlog[B, P]) Start(s Scribe[B]) {
	l.done = make(chan struct{})
	l.more.L = &l.mu
	go l.run(s)
}

// Hold returns the batch that gathers, for the caller alone until Release. After
// Close it returns nil, and there is nothing to release.
func (l *Backlog[B, P]) Hold() *B {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	return &l.batch
}

// Release ends Hold.
func (l *Backlog[B, P]) Release() {
	l.more.Signal()
	l.mu.Unlock()
}

// Flush returns when what was left before it is in the file, or when ctx is done:
// for a program that leaves on the spot.
func (l *Backlog[B, P]) Flush(ctx context.Context) {
	if l.Hold() == nil {
		return
	}
	flushed := make(chan struct{})
	l.flushed = append(l.flushed, flushed)
	l.Release()
	select {
	case <-flushed:
	case <-ctx.Done():
	}
}

// Close has the rest written, and returns what the scribe said in the end. What is
// left later is gone.
func (l *Backlog[B, P]) Close() error {
	l.mu.Lock()
	l.closed = true
	l.Release()
	<-l.done
	return l.err
}

// run is the life of the writer. It flushes whenever there is nothing more to
// take, so that a program that is killed loses next to nothing.
func (l *Backlog[B, P]) run(s Scribe[B]) {
	defer close(l.done)
	s.Begin()
	var written B
	for {
		flushed, ok := l.take(&written)
		if !ok {
			break
		}
		s.Write(&written)
		s.Flush()
		for _, f := range flushed {
			close(f)
		}
	}
	l.err = s.End()
}

// take swaps what there is for the batch that was written, and waits for it. It
// reports false when there is and will be nothing more.
func (l *Backlog[B, P]) take(written *B) (flushed []chan struct{}, ok bool) {
	P(written).Reset()
	l.mu.Lock()
	defer l.mu.Unlock()
	for P(&l.batch).Empty() && len(l.flushed) == 0 {
		if l.closed {
			return nil, false
		}
		l.more.Wait()
	}
	l.batch, *written = *written, l.batch
	flushed, l.flushed = l.flushed, nil
	return flushed, true
}
