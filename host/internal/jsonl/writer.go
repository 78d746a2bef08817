// Package jsonl writes and reads files of JSON lines. A [Writer] takes the work of
// writing off the message path: many goroutines add to a batch in memory, and one
// goroutine writes each batch while the next one gathers.
package jsonl

import (
	"context"
	"sync"
)

// Batch holds the entries that wait to be written.
type Batch[E any] struct {
	Entries []E
	Text    []byte // of the entries
	Missing int    // how many entries after these were dropped for want of room
	Weight  int    // roughly the memory that the entries take, in bytes
}

func (b *Batch[E]) empty() bool { return len(b.Entries) == 0 && b.Missing == 0 }

// reset empties the batch for another use. It frees what a burst has allocated.
func (b *Batch[E]) reset() {
	if cap(b.Text) > 1<<20 {
		*b = Batch[E]{}
	}
	clear(b.Entries)
	*b = Batch[E]{Entries: b.Entries[:0], Text: b.Text[:0]}
}

// Encoder writes batches to an output. Its methods are called from one goroutine: Begin
// first, then Write as often as there is something, End last.
type Encoder[E any] interface {
	Begin()
	Write(b *Batch[E])
	Flush()     // passes everything written so far on to the file
	End() error // closes the file; an error says that the file is not complete
}

// Writer gathers batches for an [Encoder]. A zero Writer gathers, and writes nothing
// before Start. Its methods may be called from any goroutine.
type Writer[E any] struct {
	done chan struct{} // closed when the goroutine has ended
	err  error         // of the encoder; valid once done is closed

	mu      sync.Mutex
	more    sync.Cond // on mu: there is something to write, or closed is set
	batch   Batch[E]
	flushed []chan struct{} // closed when the batch is in the file
	closed  bool
}

// Start starts the goroutine that writes, which ends with Close.
func (w *Writer[E]) Start(e Encoder[E]) {
	w.done = make(chan struct{})
	w.more.L = &w.mu
	go w.run(e)
}

// Acquire locks the current batch and returns it for the caller to add to, until
// Release. After Close it returns nil, and Release must not be called.
func (w *Writer[E]) Acquire() *Batch[E] {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	return &w.batch
}

// Release unlocks the batch.
func (w *Writer[E]) Release() {
	w.more.Signal()
	w.mu.Unlock()
}

// Flush waits until everything added before it is in the file, or until ctx is done.
// It is for programs that exit without Close.
func (w *Writer[E]) Flush(ctx context.Context) {
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

// Close writes the rest and returns the error of [Encoder.End]. Entries that are added later are
// discarded.
func (w *Writer[E]) Close() error {
	w.mu.Lock()
	w.closed = true
	w.Release()
	<-w.done
	return w.err
}

// run writes one batch after the other. It flushes after each, so that a program that is killed
// loses only the entries since then.
func (w *Writer[E]) run(e Encoder[E]) {
	defer close(w.done)
	e.Begin()
	var written Batch[E]
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

// swap waits for something to write and exchanges the current batch for the written one. It returns
// false once the writer is closed and everything is written.
func (w *Writer[E]) swap(written *Batch[E]) (flushed []chan struct{}, ok bool) {
	written.reset()
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.batch.empty() && len(w.flushed) == 0 {
		if w.closed {
			return nil, false
		}
		w.more.Wait()
	}
	w.batch, *written = *written, w.batch
	flushed, w.flushed = w.flushed, nil
	return flushed, true
}
