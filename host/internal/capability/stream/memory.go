package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
)

// Memory is the grant of byte streams to a peer within this process.
type Memory struct {
	Name string       // for errors
	As   abi.OpenKind // what the guest opens: a stream, also if it is 0, or a process

	// Dial returns a new stream, which the handle closes. It is called for each handle. Its ctx
	// ends with the handle at the latest, and then Dial must return. Read and Write of the stream
	// run at the same time, and must end when the stream is closed. If the stream has a CloseWrite,
	// the handle can end its write side alone. Otherwise the peer learns only from the end of the
	// stream that no more bytes come.
	Dial func(ctx context.Context) (io.ReadWriteCloser, error)
}

// Kind implements [capability.Target].
func (m Memory) Kind() abi.OpenKind { return cmp.Or(m.As, abi.OpenStream) }

// String returns the address in a server entry that leads to this grant.
func (m Memory) String() string { return "memory:" + m.Name }

// Opener implements [capability.Target].
func (m Memory) Opener(*capability.Limits) capability.Opener { return Opener(m.serve) }

func (m Memory) serve(h *Duplex) {
	ctx, cancel := context.WithTimeout(h.Context, h.Limits().Dial)
	stream, err := m.Dial(ctx)
	cancel()
	if err == nil && stream == nil {
		err = errors.New("the program returned no stream")
	}
	if err != nil {
		h.Fail(capability.StatusOf(err, abi.Unreachable), fmt.Errorf("open %s: %w", m, err))
		return
	}
	defer stream.Close()
	shut := func() error { return nil }
	if half, ok := stream.(interface{ CloseWrite() error }); ok {
		shut = half.CloseWrite
	}
	h.Attach(NewBlockingOutput(stream, shut, stream.Close), "the stream")
	h.Events.Opened()
	var in io.Reader = stream
	if m.As == abi.OpenProcess {
		in = process{stream}
	}
	h.Carry(in, m.String())
}

// process reads the stream that takes the place of a process. Its end is that of the process: a plugin
// would wait for that behind the end of the output.
type process struct{ io.Reader }

func (p process) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		err = errEnded
	}
	return n, err
}

var errEnded = errors.New("the other end has closed it")
