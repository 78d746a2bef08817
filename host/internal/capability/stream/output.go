package stream

import "io"

// Output is what a writer sends to. One goroutine at a time uses try, wait and
// grow; shut and close may be called by any.
type Output interface {
	// try makes one attempt and does not wait. It may take nothing.
	Try(segs [][]byte) (int, error)

	// wait returns when at least one byte of batch is taken.
	Wait(batch []byte) (int, error)

	// grow makes room where it can be made, and reports whether another try
	// makes sense.
	Grow() bool

	Shut()  // ends the write side, after the last byte
	Close() // ends the write side, whatever is under way
}

// writeMax keeps one blocking write short, so that a slow peer is seen to make
// progress.
const writeMax = 16 << 10

// BlockingOutput is the [Output] for what can only be written to by waiting. Every byte takes
// the way through the backlog and the writer: one copy and one switch of
// goroutines more than through a [FDOutput].
type BlockingOutput struct {
	to     io.Writer
	onShut func() error
	onStop func() error
}

// NewBlockingOutput returns the output for what can only be written to by waiting. shut closes the
// write side of to; stop closes all of it, whatever is under way.
func NewBlockingOutput(to io.Writer, shut, stop func() error) *BlockingOutput {
	return &BlockingOutput{to, shut, stop}
}

func (t *BlockingOutput) Try([][]byte) (int, error) { return 0, nil }

func (t *BlockingOutput) Wait(batch []byte) (int, error) {
	n, err := t.to.Write(batch[:min(len(batch), writeMax)])
	if n > 0 {
		return n, nil
	}
	return 0, err
}

func (t *BlockingOutput) Grow() bool { return false }
func (t *BlockingOutput) Shut()      { t.onShut() }
func (t *BlockingOutput) Close()     { t.onStop() }
