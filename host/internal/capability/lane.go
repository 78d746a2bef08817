package capability

import "io"

// lane is where an outlet sends to. One goroutine at a time uses try, wait and
// grow; shut and close may be called by any.
type lane interface {
	// try makes one attempt and does not wait. It may take nothing.
	try(segs [][]byte) (int, error)

	// wait returns when at least one byte of batch is taken.
	wait(batch []byte) (int, error)

	// grow makes room where it can be made, and reports whether another try
	// makes sense.
	grow() bool

	shut()  // ends the write side, after the last byte
	close() // ends the write side, whatever is under way
}

// writeMax keeps one blocking write short, so that a slow peer is seen to make
// progress.
const writeMax = 16 << 10

// tunnel is the lane to what can only be written to by waiting. Every byte takes
// the way through the backlog and the writer: one copy and one switch of
// goroutines more than through a [port].
type tunnel struct {
	to     io.Writer
	onShut func() error
	onStop func() error
}

func (t *tunnel) try([][]byte) (int, error) { return 0, nil }

func (t *tunnel) wait(batch []byte) (int, error) {
	n, err := t.to.Write(batch[:min(len(batch), writeMax)])
	if n > 0 {
		return n, nil
	}
	return 0, err
}

func (t *tunnel) grow() bool { return false }
func (t *tunnel) shut()      { t.onShut() }
func (t *tunnel) close()     { t.onStop() }
