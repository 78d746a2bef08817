package stream

import "io"

// Output is what a writer sends to. One goroutine at a time uses Try, Wait and
// Grow; Shut and Close may be called by any.
type Output interface {
	// Try makes one attempt and does not wait. It may take nothing.
	Try(segs [][]byte) (int, error)

	// Wait returns when at least one byte of batch is taken.
	Wait(batch []byte) (int, error)

	// Grow makes room where it can be made, and reports whether another try
	// makes sense.
	Grow() bool

	Shut()  // ends the write side, after the last byte
	Close() // ends the write side, whatever is under way
}

// writeMax keeps one blocking write short, so that a slow peer is seen to make
// progress.
const writeMax = 16 << 10

// BlockingOutput is the [Output] for what can only be written to by waiting. Every byte
// goes through the backlog and the goroutine that drains it: one copy and one switch
// of goroutines more than through an [FDOutput].
type BlockingOutput struct {
	to     io.Writer
	onShut func() error
	onStop func() error
}

// NewBlockingOutput returns the output that writes to to. shut closes its write side;
// stop closes all of it, whatever is under way.
func NewBlockingOutput(to io.Writer, shut, stop func() error) *BlockingOutput {
	return &BlockingOutput{to, shut, stop}
}

// Try takes nothing.
func (t *BlockingOutput) Try([][]byte) (int, error) { return 0, nil }

// Wait is described at [Output].
func (t *BlockingOutput) Wait(batch []byte) (int, error) {
	n, err := t.to.Write(batch[:min(len(batch), writeMax)])
	if n > 0 {
		return n, nil
	}
	return 0, err
}

// Grow has no room to make.
func (t *BlockingOutput) Grow() bool { return false }

// Shut is described at [Output].
func (t *BlockingOutput) Shut() { t.onShut() }

// Close is described at [Output].
func (t *BlockingOutput) Close() { t.onStop() }
