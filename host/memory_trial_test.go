package host_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/plugintest/restarttest"
)

// inProcess is a server of the official SDK within the program, which can go away
// and come back as one behind a socket can.
type inProcess struct {
	mu    sync.Mutex
	here  bool
	conns []net.Conn
	runs  sync.WaitGroup
}

func (a *inProcess) dial(context.Context) (io.ReadWriteCloser, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.here {
		return nil, errors.New("no person is there")
	}
	ours, theirs := net.Pipe()
	a.conns = append(a.conns, theirs)
	a.runs.Go(func() {
		restarttest.NewServer().Run(context.Background(), &mcp.IOTransport{Reader: theirs, Writer: theirs, MaxLineLength: -1})
	})
	return ours, nil
}

func (a *inProcess) start(*testing.T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.here = true
}

func (a *inProcess) kill(*testing.T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.here = false
	for _, c := range a.conns {
		c.Close()
	}
	a.conns = nil
	a.runs.Wait()
}

func TestRestartWithinTheProgram(t *testing.T) {
	a := &inProcess{}
	restarttest.Run(t, restarttest.Trial{
		Config: host.Config{Files: pluginFile("socket", socketFile), Streams: map[string]func(context.Context) (io.ReadWriteCloser, error){"loft": a.dial}},
		Entry:  host.Server{Name: "loft", Transport: "socket", Address: "memory:loft"},
		Start:  a.start, Kill: a.kill,
	})
}
