package stream

import "io"

// Output is the destination of a writer. One goroutine at a time uses Try, Wait and Grow; any may
// call Shut and Close.
type Output interface {
	// Try makes one attempt to write and does not wait. It may take no bytes.
	Try(segs [][]byte) (int, error)

	// Wait returns when at least one byte of batch is taken.
	Wait(batch []byte) (int, error)

	// Grow enlarges the buffer of the destination if that is possible, and reports whether another
	// Try is worthwhile.
	Grow() bool

	Shut()  // ends the write side, after the last byte
	Close() // ends the write side at once
}

// writeMax is the most bytes of one blocking write. It is small so that a slow peer is seen to make
// progress.
const writeMax = 16 << 10

// BlockingOutput is the [Output] for a destination without nonblocking writes. Every byte goes
// through the backlog and the goroutine that drains it: one copy and one goroutine switch more than
// through an [FDOutput].
type BlockingOutput struct {
	to     io.Writer
	onShut func() error
	onStop func() error
}

// NewBlockingOutput returns the output that writes to to. shut closes its write side; stop closes
// all of it at once.
func NewBlockingOutput(to io.Writer, shut, stop func() error) *BlockingOutput {
	return &BlockingOutput{to, shut, stop}
}

// Try takes no bytes.
func (t *BlockingOutput) Try([][]byte) (int, error) { return 0, nil }

// Wait is described at [Output].
func (t *BlockingOutput) Wait(batch []byte) (int, error) {
	n, err := t.to.Write(batch[:min(len(batch), writeMax)])
	if n > 0 {
		return n, nil
	}
	return 0, err
}

// Grow returns false.
func (t *BlockingOutput) Grow() bool { return false }

// Shut is described at [Output].
func (t *BlockingOutput) Shut() { t.onShut() }

// Close is described at [Output].
func (t *BlockingOutput) Close() { t.onStop() }
