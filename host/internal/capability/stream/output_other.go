//go:build !linux && !darwin

package stream

// FDOutput writes to a pipe or socket. The pipes of these systems have no nonblocking mode, so
// every byte goes through the backlog and the writer: one copy and one goroutine switch more than
// elsewhere.
type FDOutput struct{ BlockingOutput }

// Unread returns false: these systems do not tell the writer of a pipe how many bytes wait in it.
func (*FDOutput) Unread() bool { return false }

func NewFDOutput(c FDConn, shut, stop func() error) (*FDOutput, error) {
	return &FDOutput{BlockingOutput{to: c, onShut: shut, onStop: stop}}, nil
}
