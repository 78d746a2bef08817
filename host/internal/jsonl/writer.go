// Package jsonl writes and reads files of JSON lines. A [Writer] takes the work of
// writing off the message path: many goroutines add to a batch in memory, and one
// goroutine writes each batch while the next one gathers.
package jsonl

import (
	"context"
	"sync"
)

// Batch is a pointer to what gathers until it is written.
type Batch[B any] interface {
	*B
	Empty() bool // there is nothing to write
	Reset()      // empties it for another use
}

// Encoder writes batches to a file. Its methods are called from one goroutine: Begin
// first, then Write and Flush in turn, End last.
type Encoder[B any] interface {
	Begin()
	Write(b *B)
	Flush()     // passes everything written so far on to the file
	End() error // closes the file; an error says that the file is not complete
}

// Writer gathers batches for an [Encoder]. A zero Writer gathers, and writes nothing
// before Start. Its methods may be called from any goroutine.
type Writer[B any, P Batch[B]] struct {
	done chan struct{} // closed when the goroutine has ended
	err  error         // of the encoder; valid once done is closed

	mu      sync.Mutex
	more    sync.Cond // on mu: there is something to write, or closed is set
	batch   B
	flushed []chan struct{} // closed when the batch is in the file
	closed  bool
}

// Start starts the goroutine that writes, which ends with Close.
func (w *Writer[B, P]) Start(e Encoder[B]) {
	w.done = make(chan struct{})
	w.more.L = &w.mu
	go w.run(e)
}

// Acquire locks the current batch and returns it for the caller to add to, until
// Release. After Close it returns nil, and Release must not be called.
func (w *Writer[B, P]) Acquire() *B {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	return &w.batch
}

// Release unlocks the batch.
func (w *Writer[B, P]) Release() {
	w.more.Signal()
	w.mu.Unlock()
}

// Flush waits until everything added before it is in the file, or until ctx is done.
// It is for programs that exit without Close.
func (w *Writer[B, P]) Flush(ctx context.Context) {
	if w.Acquire() == nil {
		return
	}
	flushed := make(chan struct{})
	w.flushed = append(w.flushed, flushed)
	w.Release()
	select {
	case <-flushed:
	case <-ctx.Done():
	}
}

// Close writes the rest and returns the error of [Encoder.End]. What is added later is
// discarded.
func (w *Writer[B, P]) Close() error {
	w.mu.Lock()
	w.closed = true
	w.Release()
	<-w.done
	return w.err
}

// run writes one batch after the other. It flushes after each, so that a program that
// is killed loses only what came since.
func (w *Writer[B, P]) run(e Encoder[B]) {
	defer close(w.done)
	e.Begin()
	var written B
	for {
		flushed, ok := w.swap(&written)
		if !ok {
			break
		}
		e.Write(&written)
		e.Flush()
		for _, f := range flushed {
			close(f)
		}
	}
	w.err = e.End()
}

// swap waits for something to write and exchanges the current batch for the written
// one. It reports false once the writer is closed and everything is written.
func (w *Writer[B, P]) swap(written *B) (flushed []chan struct{}, ok bool) {
	P(written).Reset()
	w.mu.Lock()
	defer w.mu.Unlock()
	for P(&w.batch).Empty() && len(w.flushed) == 0 {
		if w.closed {
			return nil, false
		}
		w.more.Wait()
	}
	w.batch, *written = *written, w.batch
	flushed, w.flushed = w.flushed, nil
	return flushed, true
}
