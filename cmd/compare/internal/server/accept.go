package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"sync/atomic"
)

// acceptor takes connections, and counts them.
type acceptor struct {
	listener net.Listener
	opened   atomic.Int64
}

// accept serves each connection in a goroutine of its own, until Close.
func (a *acceptor) accept(serve func(net.Conn)) {
	for {
		c, err := a.listener.Accept()
		if err != nil {
			return
		}
		a.opened.Add(1)
		go serve(c)
	}
}

// Opened returns how many connections there were until now.
func (a *acceptor) Opened() int { return int(a.opened.Load()) }

// Close takes no more connections; those that are open end with their clients.
func (a *acceptor) Close() error { return a.listener.Close() }

// ServeWeb runs a process as a [Web]; see [Site].
func ServeWeb(in io.Reader, out io.Writer, era Era, tools int) error {
	w, err := NewWeb(era, tools)
	if err != nil {
		return err
	}
	defer w.Close()
	return w.report(in, out, w.base())
}

// ServeSocket runs a process as a [Socket]; see [Site].
func ServeSocket(in io.Reader, out io.Writer, era Era, tools int) error {
	s, err := NewSocket(era, tools)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.report(in, out, s.Path())
}

// report writes the address in a line. Then it writes the number of connections for every
// line that comes in, until the input ends.
func (a *acceptor) report(in io.Reader, out io.Writer, address string) error {
	if _, err := fmt.Fprintln(out, address); err != nil {
		return err
	}
	questions := bufio.NewScanner(in)
	for questions.Scan() {
		if _, err := fmt.Fprintln(out, a.Opened()); err != nil {
			return err
		}
	}
	return questions.Err()
}
