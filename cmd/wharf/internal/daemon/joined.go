package daemon

import (
	"errors"
	"io"
	"net"
)

// ErrEnded is the error of reading from a connection of [Joined] whose daemon has ended.
var ErrEnded = errors.New("the daemon of Wharf was stopped")

// Joined returns a connection of [Place.Open] that was joined to a server. The daemon ends none of these before it ends
// itself.
func Joined(conn io.ReadWriteCloser) io.ReadWriteCloser { return joined{conn} }

type joined struct{ io.ReadWriteCloser }

func (j joined) Read(b []byte) (int, error) {
	n, err := j.ReadWriteCloser.Read(b)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		err = ErrEnded
	}
	return n, err
}

// CloseWrite ends the write side alone.
func (j joined) CloseWrite() error {
	return j.ReadWriteCloser.(interface{ CloseWrite() error }).CloseWrite()
}
