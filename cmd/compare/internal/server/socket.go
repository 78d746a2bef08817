package server

import (
	"net"
	"os"
	"path/filepath"
)

// Socket is the server on a unix socket. It does the work of [Serve] in a goroutine for each
// connection.
type Socket struct {
	acceptor
	folder string
}

// NewSocket serves on a socket in a folder of its own, which Close removes.
func NewSocket(era Era, tools int) (*Socket, error) {
	folder, err := os.MkdirTemp("", "compare")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", filepath.Join(folder, "socket"))
	if err != nil {
		os.Remove(folder)
		return nil, err
	}
	s := &Socket{acceptor{listener: l}, folder}
	f := newFace(era, tools)
	go s.accept(func(c net.Conn) {
		defer c.Close()
		f.serve(c, c)
	})
	return s, nil
}

// Path returns the path of the socket.
func (s *Socket) Path() string { return s.listener.Addr().String() }

// Close takes no more connections; those that are open end with their clients.
func (s *Socket) Close() error {
	err := s.acceptor.Close()
	os.Remove(s.folder)
	return err
}
