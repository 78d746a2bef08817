package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"sync/atomic"
)

// Form is how the server answers over HTTP. It is the path of the URL.
type Form string

// The forms: the answer alone, or an event stream that has it as its only
// event.
const (
	JSON   Form = "json"
	Events Form = "events"
)

// Web is the server over HTTP: one goroutine for each connection, which answers
// a request with one write. What it speaks of HTTP/1.1 is what clients of MCP
// say: POST with a Content-Length. It has no sessions and no listening streams,
// and the flood is refused.
type Web struct {
	listener net.Listener
	face     face
	opened   atomic.Int64
}

// NewWeb serves on a free port of this machine.
func NewWeb(era Era) (*Web, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Web{listener: l, face: face{era: era, tools: toolList(era)}}
	go w.accept()
	return w, nil
}

// URL is where requests are answered in one of the forms.
func (w *Web) URL(f Form) string { return w.base() + "/" + string(f) }

func (w *Web) base() string { return "http://" + w.listener.Addr().String() }

// Opened returns how many connections there were until now.
func (w *Web) Opened() int { return int(w.opened.Load()) }

// Close takes no more connections; those that are open end with their clients.
func (w *Web) Close() error { return w.listener.Close() }

func (w *Web) accept() {
	for {
		c, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.opened.Add(1)
		go w.serve(c)
	}
}

// serve answers what comes over one connection. A request that is not
// understood ends it: no peer could use the reason.
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

// ServeWeb is a process that is a [Web]. It says its address in a line, and then
// the number of connections for every line that comes in, until the input ends;
// see [Site].
func ServeWeb(in io.Reader, out io.Writer, era Era) error {
	w, err := NewWeb(era)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := fmt.Fprintln(out, w.base()); err != nil {
		return err
	}
	questions := bufio.NewScanner(in)
	for questions.Scan() {
		if _, err := fmt.Fprintln(out, w.Opened()); err != nil {
			return err
		}
	}
	return questions.Err()
}
