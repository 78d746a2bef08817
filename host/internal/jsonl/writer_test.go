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

type numbers []int

func (n *numbers) Empty() bool { return len(*n) == 0 }
func (n *numbers) Reset()      { *n = (*n)[:0] }

// clerk keeps what it is given, and what of it was flushed.
type clerk struct {
	held    chan struct{} // each batch waits for one of these; nil for none
	written []int
	flushed int
}

var errEnd = errors.New("the disk is full")

func (c *clerk) Begin() {}
func (c *clerk) Write(n *numbers) {
	if c.held != nil {
		<-c.held
	}
	c.written = append(c.written, *n...)
}
func (c *clerk) Flush()     { c.flushed = len(c.written) }
func (c *clerk) End() error { c.Flush(); return errEnd }

type pile struct{ Writer[numbers, *numbers] }

func (p *pile) leave(n int) {
	if b := p.Acquire(); b != nil {
		*b = append(*b, n)
		p.Release()
	}
}

func TestEverythingIsWrittenOnce(t *testing.T) {
	var p pile
	var c clerk
	p.Start(&c)
	var all sync.WaitGroup
	const workers, each = 8, 500
	for w := range workers {
		all.Go(func() {
			for n := range each {
				p.leave(w*each + n)
			}
		})
	}
	all.Wait()
	if err := p.Close(); err != errEnd {
		t.Errorf("closed with %v", err)
	}
	p.leave(-1) // nobody's any more
	p.Flush(t.Context())
	if err := p.Close(); err != errEnd {
		t.Errorf("closed again with %v", err)
	}
	slices.Sort(c.written)
	if len(c.written) != workers*each || c.written[0] != 0 || len(slices.Compact(c.written)) != workers*each {
		t.Errorf("%d were written", len(c.written))
	}
}

// Flush waits for what was left before it, and no longer than its context. Whoever
// leaves something waits for nothing.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pile
		c := clerk{held: make(chan struct{})}
		p.Start(&c)
		p.leave(1)
		synctest.Wait() // the writer is stuck with it
		p.leave(2)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p.Flush(ctx)
		seen := make(chan int)
		go func() { p.Flush(t.Context()); seen <- c.flushed }()
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
		p.Close()
	})
}
