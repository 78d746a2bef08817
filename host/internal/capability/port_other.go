//go:build !linux && !darwin

package capability

import "io"

// writeMax keeps one blocking write short, so that a slow peer is seen to make
// progress.
const writeMax = 16 << 10

// port writes to a pipe or socket. The pipes of these systems have no
// nonblocking mode, so every byte takes the way through the backlog and the
// writer: one copy and one switch of goroutines more than elsewhere.
type port struct {
	to    conduit
	shut  func() error // ends the write side, after the last byte
	close func() error // ends the write side, whatever is under way
}

func newPort(c conduit, shut, stop func() error) (*port, error) {
	return &port{to: c, shut: shut, close: stop}, nil
}

func (p *port) try([][]byte) (int, error) { return 0, nil }

func (p *port) wait(batch []byte) (int, error) {
	n, err := p.to.Write(batch[:min(len(batch), writeMax)])
	if n > 0 {
		return n, nil
	}
	return 0, err
}

func (p *port) grow() bool { return false }

// readNow has no way to read without waiting here.
func readNow(rawConn, []byte) (int, error) { return 0, io.EOF }
