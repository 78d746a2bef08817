package jsonl

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeOutput keeps the batches that it is given, and counts what was flushed.
type fakeOutput struct {
	held    chan struct{} // each batch waits for one of these; nil for none
	written []int
	flushed int
}

var errEnd = errors.New("the disk is full")

func (c *fakeOutput) Begin() {}
func (c *fakeOutput) Write(b *Batch[int]) {
	if c.held != nil {
		<-c.held
	}
	c.written = append(c.written, b.Entries...)
}
func (c *fakeOutput) Flush()     { c.flushed = len(c.written) }
func (c *fakeOutput) End() error { c.Flush(); return errEnd }

type queue struct{ Writer[int] }

func (q *queue) add(n int) {
	if b := q.Acquire(); b != nil {
		b.Entries = append(b.Entries, n)
		q.Release()
	}
}

func TestEverythingIsWrittenOnce(t *testing.T) {
	var q queue
	var c fakeOutput
	q.Start(&c)
	var all sync.WaitGroup
	const workers, each = 8, 500
	for w := range workers {
		all.Go(func() {
			for n := range each {
				q.add(w*each + n)
			}
		})
	}
	all.Wait()
	if err := q.Close(); err != errEnd {
		t.Errorf("closed with %v", err)
	}
	q.add(-1) // is discarded
	q.Flush(t.Context())
	if err := q.Close(); err != errEnd {
		t.Errorf("closed again with %v", err)
	}
	slices.Sort(c.written)
	if len(c.written) != workers*each || c.written[0] != 0 || len(slices.Compact(c.written)) != workers*each {
		t.Errorf("%d were written", len(c.written))
	}
}

// Flush waits for what was added before it, and no longer than its context. Adding does
// not wait.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue
		c := fakeOutput{held: make(chan struct{})}
		q.Start(&c)
		q.add(1)
		synctest.Wait() // the writer is stuck with it
		q.add(2)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		q.Flush(ctx)
		seen := make(chan int)
		go func() { q.Flush(t.Context()); seen <- c.flushed }()
		synctest.Wait()
		select {
		case <-seen:
			t.Error("flush did not wait")
		default:
		}
		close(c.held)
		if n := <-seen; n != 2 {
			t.Errorf("%d were in the file", n)
		}
		q.Close()
	})
}
