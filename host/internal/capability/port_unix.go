//go:build linux || darwin

package capability

import (
	"golang.org/x/sys/unix"
)

// maxSegments is the IOV_MAX of the systems we know.
const maxSegments = 1024

// port writes to the descriptor of a pipe or socket. One goroutine at a time
// uses try and wait; shut and close may be called by any.
//
// The descriptors are nonblocking, and the functions that write are made once:
// a closure for each write would be an allocation for each message.
type port struct {
	raw   rawConn
	shut  func() error // ends the write side, after the last byte
	close func() error // ends the write side, whatever is under way

	segs  [][]byte // parameter of once
	batch []byte   // parameter of until
	n     int      // results of both
	err   error
	once  func(fd uintptr) bool
	until func(fd uintptr) bool
	grown bool
}

func newPort(c conduit, shut, stop func() error) (*port, error) {
	raw, err := c.SyscallConn()
	p := &port{raw: raw, shut: shut, close: stop}
	p.once = func(fd uintptr) bool {
		p.n, p.err = send(int(fd), p.segs)
		return true
	}
	p.until = func(fd uintptr) bool {
		p.n, p.err = again(unix.Write(int(fd), p.batch))
		return p.n > 0 || p.err != nil
	}
	return p, err
}

// try makes one attempt and does not wait. It may take nothing.
func (p *port) try(segs [][]byte) (int, error) {
	p.segs = segs[:min(len(segs), maxSegments)]
	if err := p.raw.Write(p.once); err != nil {
		return 0, err
	}
	p.segs = nil
	return p.n, p.err
}

// wait returns when at least one byte of batch is taken.
func (p *port) wait(batch []byte) (int, error) {
	p.batch = batch
	if err := p.raw.Write(p.until); err != nil {
		return 0, err
	}
	p.batch = nil
	return p.n, p.err
}

// grow makes a pipe larger and reports whether another try makes sense.
func (p *port) grow() bool {
	if p.grown {
		return false
	}
	p.grown = true
	return growPipe(p.raw)
}

func send(fd int, segs [][]byte) (int, error) {
	if len(segs) == 1 {
		return again(unix.Write(fd, segs[0]))
	}
	return again(unix.Writev(fd, segs))
}

// again turns what only asks for another attempt into nothing done.
func again(n int, err error) (int, error) {
	switch err {
	case nil:
		return n, nil
	case unix.EAGAIN, unix.EINTR:
		return 0, nil
	}
	return 0, err
}

// readNow reads what has come already: 0 without an error means nothing has.
func readNow(raw rawConn, p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	outer := raw.Read(func(fd uintptr) bool {
		n, err = again(unix.Read(int(fd), p))
		return true
	})
	if outer != nil {
		return 0, outer
	}
	return n, err
}
