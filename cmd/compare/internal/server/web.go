package server

import (
	"bufio"
	"net"
)

// Form is the form of the answers of a server that clients connect to. Over HTTP it is the path
// of the URL.
type Form string

// The forms: over HTTP the answer alone, or an event stream that has it as its
// only event; over a unix socket lines.
const (
	JSON   Form = "json"
	Events Form = "events"
	Lines  Form = "lines"
)

// Web is the server over HTTP: one goroutine for each connection, which answers
// a request with one write. It understands only the part of HTTP/1.1 that
// clients of MCP use: POST with a Content-Length. It has no sessions and no listening streams,
// and the flood is refused.
type Web struct {
	acceptor
	face face
}

// NewWeb serves on a free port of this machine.
func NewWeb(era Era, tools int) (*Web, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Web{acceptor: acceptor{listener: l}, face: newFace(era, tools)}
	go w.accept(w.serve)
	return w, nil
}

// URL returns the address at which requests are answered in one of the forms.
func (w *Web) URL(f Form) string { return w.base() + "/" + string(f) }

func (w *Web) base() string { return "http://" + w.listener.Addr().String() }

// serve answers the requests of one connection. A request that it does not understand ends the
// connection, since no peer could use the reason.
func (w *Web) serve(c net.Conn) {
	defer c.Close()
	v := visit{requests: bufio.NewReaderSize(c, 16<<10), conn: conn{face: w.face}}
	for {
		reply, err := v.next()
		if err != nil {
			return
		}
		if _, err := c.Write(reply); err != nil {
			return
		}
	}
}
