package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
)

// Accepted is the grant of one byte stream to a client, which is open already. It can be opened
// once. The table of the grant needs limits without a Stall, and a Grace that has no end: a client
// that reads slowly is waited for, until the context of the table's Close ends.
type Accepted struct {
	As     abi.OpenKind       // what the guest opens: a stream or a process
	Name   string             // of the client, for errors
	Stream io.ReadWriteCloser // closed by the handle; that ends a Read and a Write which wait

	// AwaitRoom is called before each read. It waits while the client must not send more, or
	// until ctx ends. InputEnded is called once, when the client has ended its side, and does
	// not wait. The guest is not told of that end, so the handle stays open for messages that
	// are still to be sent.
	AwaitRoom  func(ctx context.Context) error
	InputEnded func()

	handle atomic.Pointer[Duplex] // nil until it is open
}

// Kind implements [capability.Target].
func (a *Accepted) Kind() abi.OpenKind { return a.As }

func (a *Accepted) String() string { return "client " + a.Name }

// Opener implements [capability.Target].
func (a *Accepted) Opener(*capability.Limits) capability.Opener { return acceptedOpener{a} }

// Progress returns how many bytes wait for the client. taken counts the bytes that had to wait, and
// that the client has taken since.
func (a *Accepted) Progress() (queued int, taken int64) {
	if h := a.handle.Load(); h != nil {
		return h.Queued(), h.writer.taken.Load()
	}
	return 0, 0
}

// Broken returns why the client takes no more bytes, or nil while it does.
func (a *Accepted) Broken() error {
	if h := a.handle.Load(); h != nil {
		if err := h.broken.Load(); err != nil {
			return *err
		}
	}
	return nil
}

type acceptedOpener struct{ *Accepted }

func (o acceptedOpener) Open(at capability.Opening, r *abi.OpenRequest) (capability.Handle, abi.Status, error) {
	h, status, err := Opener(o.serve).Open(at, r)
	if err == nil && !o.handle.CompareAndSwap(nil, h.(*Duplex)) {
		return nil, abi.LimitReached, errors.New("the stream of a client can be opened once")
	}
	return h, status, err
}

func (acceptedOpener) Close() {}

func (a *Accepted) serve(h *Duplex) {
	defer a.Stream.Close()
	h.peer = "client"
	in, out, err := a.ends()
	if err != nil {
		h.Fail(abi.Internal, fmt.Errorf("%s: %w", a, err))
		return
	}
	h.Attach(out, "what it is sent")
	h.Events.Opened()
	read := make(chan struct{})
	go func() {
		defer close(read)
		a.read(h, in)
	}()
	select {
	case <-h.Context.Done():
		h.writer.finish()
		select {
		case <-h.WritingEnded():
		case <-h.failed:
		case <-h.Forced():
		}
	case <-h.failed:
	}
	h.writer.close()
	<-read
}

// FilePair is a stream that consists of two files, as the standard streams of a process. Its CloseWrite
// closes out.
type FilePair interface {
	Files() (in, out *os.File)
}

// ends returns the two sides of the stream. Sockets, and files that the runtime polls, are read and
// written without another goroutine.
func (a *Accepted) ends() (io.Reader, Output, error) {
	shut := func() error { return nil }
	if half, ok := a.Stream.(interface{ CloseWrite() error }); ok {
		shut = half.CloseWrite
	}
	var from, to FDConn
	switch s := a.Stream.(type) {
	case *net.UnixConn:
		from, to = s, s
	case *net.TCPConn:
		from, to = s, s
	case FilePair:
		if in, out := s.Files(); polled(in) && polled(out) {
			from, to = in, out
		}
	}
	if from == nil {
		return a.Stream, NewBlockingOutput(a.Stream, shut, a.Stream.Close), nil
	}
	in, err := NewReader(from)
	if err != nil {
		return nil, nil, err
	}
	out, err := NewFDOutput(to, shut, a.Stream.Close)
	return in, out, err
}

// polled reports whether the runtime waits for a file without a thread.
func polled(f *os.File) bool { return f.SetDeadline(time.Time{}) == nil }

// read passes on what the client sends. It adds a line break to a last line that has none: the
// guest is not told of the end, and would wait for the rest of the line.
func (a *Accepted) read(h *Duplex, in io.Reader) {
	last := byte('\n')
	for a.AwaitRoom(h.Context) == nil {
		buf, n, err := readChunk(in)
		if n > 0 {
			last = buf[n-1]
			h.Events.Data(buf[:n], false)
		}
		capability.PutChunk(buf)
		switch {
		case errors.Is(err, io.EOF):
			if last != '\n' {
				h.Events.Data([]byte{'\n'}, false)
			}
			a.InputEnded()
			return
		case err != nil:
			h.heardAll(err, a.String())
			return
		}
	}
}
