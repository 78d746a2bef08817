package main

import (
	"io"
	"syscall"
)

// The server reads and writes by bare system calls. An os.File would cost it a tenth of a
// microsecond each, which is a tenth of its whole time.
type (
	input  struct{}
	output struct{}
)

func (input) Read(b []byte) (int, error) {
	for {
		n, err := syscall.Read(syscall.Stdin, b)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (output) Write(b []byte) (int, error) {
	written := 0
	for written < len(b) {
		n, err := syscall.Write(syscall.Stdout, b[written:])
		if err != nil && err != syscall.EINTR {
			return written, err
		}
		written += max(n, 0)
	}
	return written, nil
}
