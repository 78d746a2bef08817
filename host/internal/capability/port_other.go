//go:build !linux && !darwin

package capability

import "io"

// port writes to a pipe or socket. The pipes of these systems have no
// nonblocking mode, so every byte takes the way through the backlog and the
// writer: one copy and one switch of goroutines more than elsewhere.
type port struct{ tunnel }

func newPort(c conduit, shut, stop func() error) (*port, error) {
	return &port{tunnel{to: c, onShut: shut, onStop: stop}}, nil
}

// readNow has no way to read without waiting here.
func readNow(rawConn, []byte) (int, error) { return 0, io.EOF }
