package daemon

import (
	"errors"
	"io"
	"net"
	"time"
)

// First returns the request with which a connection begins, or nil if it begins with the control
// protocol, of which First reads nothing. The client has the time limit to begin.
func First(stream io.ReadWriteCloser, limit time.Duration) (*Request, error) {
	conn, is := stream.(*net.UnixConn)
	if !is {
		return nil, errors.New("expected a connection of a unix socket")
	}
	if err := conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	first, err := peek(conn)
	if err != nil {
		return nil, err
	}
	var r *Request
	if first == greeting[0] {
		if r, err = readRequest(conn); err != nil {
			return nil, err
		}
	}
	return r, conn.SetReadDeadline(time.Time{})
}
