//go:build linux || darwin

package stream

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// maxSegments is IOV_MAX on the known systems.
const maxSegments = 1024

// FDOutput is the [Output] to the descriptor of a pipe or socket.
//
// The descriptors are nonblocking, and the functions that write are made once:
// a closure for each write would be an allocation for each message.
type FDOutput struct {
	raw    rawConn
	onShut func() error
	onStop func() error

	segs  [][]byte // parameter of once
	batch []byte   // parameter of until
	n     int      // results of both
	err   error
	once  func(fd uintptr) bool
	until func(fd uintptr) bool
	grown bool
	sent  atomic.Int64
}

// NewFDOutput returns the output to c. shut ends its write side; stop ends it at once.
func NewFDOutput(c FDConn, shut, stop func() error) (*FDOutput, error) {
	raw, err := c.SyscallConn()
	p := &FDOutput{raw: raw, onShut: shut, onStop: stop}
	p.once = func(fd uintptr) bool {
		if len(p.segs) == 1 {
			p.n, p.err = again(unix.Write(int(fd), p.segs[0]))
		} else {
			p.n, p.err = again(unix.Writev(int(fd), p.segs))
		}
		return true
	}
	p.until = func(fd uintptr) bool {
		p.n, p.err = again(unix.Write(int(fd), p.batch))
		return p.n > 0 || p.err != nil
	}
	return p, err
}

func (p *FDOutput) Try(segs [][]byte) (int, error) {
	p.segs = segs[:min(len(segs), maxSegments)]
	if err := p.raw.Write(p.once); err != nil {
		return 0, err
	}
	p.segs = nil
	p.sent.Add(int64(p.n))
	return p.n, p.err
}

func (p *FDOutput) Wait(batch []byte) (int, error) {
	p.batch = batch
	if err := p.raw.Write(p.until); err != nil {
		return 0, err
	}
	p.batch = nil
	p.sent.Add(int64(p.n))
	return p.n, p.err
}

func (p *FDOutput) Shut()  { p.onShut() }
func (p *FDOutput) Close() { p.onStop() }

// Unread reports whether the other side certainly read nothing. Call it for a pipe whose readers
// are gone, before the pipe is closed.
func (p *FDOutput) Unread() bool {
	sent := p.sent.Load()
	held, known := heldBy(p.raw)
	return sent == 0 || known && int64(held) >= sent
}

func (p *FDOutput) Grow() bool {
	if p.grown {
		return false
	}
	p.grown = true
	return growPipe(p.raw)
}

// again returns 0 without an error for a call that has to be tried again.
func again(n int, err error) (int, error) {
	switch err {
	case nil:
		return n, nil
	case unix.EAGAIN, unix.EINTR:
		return 0, nil
	}
	return 0, err
}
