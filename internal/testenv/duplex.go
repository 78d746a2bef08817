package testenv

import (
	"errors"
	"io"
)

// Duplex is one end of a stream within the program. Nothing is kept on the way: a Write waits until the
// other end has read it.
type Duplex struct {
	*io.PipeReader
	*io.PipeWriter
}

// NewDuplex returns both ends of a stream.
func NewDuplex() (a, b *Duplex) {
	ar, bw := io.Pipe()
	br, aw := io.Pipe()
	return &Duplex{ar, aw}, &Duplex{br, bw}
}

func (d *Duplex) Close() error { return errors.Join(d.PipeReader.Close(), d.PipeWriter.Close()) }

// CloseWrite has the other end read its end.
func (d *Duplex) CloseWrite() error { return d.PipeWriter.Close() }
