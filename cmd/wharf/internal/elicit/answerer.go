package elicit

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of answerers.
const (
	maxAnswer  = 16 << 20    // bytes that an answerer writes
	maxAnswers = 100         // runs for one server; the user may pay for each, as for those of a model
	childWait  = time.Second // for a process that an answerer has left behind, and that keeps its stdout
)

// codeRejected is the code of a request that gets no answer (2025-11-25/client/sampling#error-handling).
const codeRejected = -1

// answerer counts the runs of a command that answers one server: the sampler in place of a model, or
// the respondent in place of the person. One run at a time goes on. Safe for concurrent use.
type answerer struct {
	begun atomic.Int32
	once  sync.Once
	turn  chan struct{} // holds one element while the command runs
}

// take waits until the command does not run, or until ctx ends. The caller calls done at the end of its run.
func (w *answerer) take(ctx context.Context) (done func(), err error) {
	w.once.Do(func() { w.turn = make(chan struct{}, 1) })
	select {
	case w.turn <- struct{}{}:
		return func() { <-w.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	bytes.Buffer
	most int
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	kept := p[:min(len(p), b.most-b.Len())]
	b.over = b.over || len(kept) < len(p)
	b.Buffer.Write(kept)
	return len(p), nil
}
