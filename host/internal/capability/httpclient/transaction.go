package httpclient

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
)

// request is what a guest asked for, checked against its grant.
type request struct {
	client  *client
	method  string
	url     *url.URL
	header  http.Header
	whole   bool // header has the parts that all requests share; other requests use it too, so it must not be changed
	upgrade bool
}

// transaction is a request that is being carried out. Its body is complete and stays as it
// is, so it can be sent again: elsewhere on the same origin, or signed in.
type transaction struct {
	request
	slot *capability.Slot // of the handle
	phaseTimer
	signature
	responseHead
	body  []byte
	left  func(n int)  // told how much of a large body is not sent yet; may be nil
	first bytes.Reader // of a small body, the first time that it is sent
	read  bool         // first is taken

	reading uploadGate // of a large body
}

// signature is what a request was last signed in with.
type signature struct {
	signed     bool       // by our credentials; false outside of what they sign
	sent       []abi.Pair // what they gave
	challenges int        // challenges so far
}

// inMemory is the longest body that is given to net/http as bytes: it goes out
// in one piece with the head. A longer one is watched on its way.
const inMemory = capability.ChunkSize

// reader returns the body from its start. For a small body its type is one that net/http
// knows, and writes together with the head. net/http may still use a reader that it got
// before.
func (c *transaction) reader() (io.ReadCloser, error) {
	switch {
	case len(c.body) > inMemory:
		return &upload{call: c, rest: c.body}, nil
	case c.read:
		return io.NopCloser(bytes.NewReader(c.body)), nil
	}
	c.read = true
	c.first.Reset(c.body)
	return io.NopCloser(&c.first), nil
}

// upload is a large body on its way out.
type upload struct {
	call *transaction
	rest []byte
}

func (u *upload) Read(p []byte) (int, error) {
	gate := &u.call.reading
	gate.mu.Lock()
	if gate.shut {
		gate.mu.Unlock()
		return 0, net.ErrClosed
	}
	n := copy(p, u.rest)
	gate.mu.Unlock()
	u.rest = u.rest[n:]
	u.call.onSent(len(u.rest) == 0)
	if u.call.left != nil {
		u.call.left(len(u.rest))
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (u *upload) Close() error { return nil }

// uploadGate keeps net/http from a body that has gone back to its owner. An answer may
// come, or a caller leave, before all of the request was sent, and net/http does not tell
// when the goroutine that sends it stops.
type uploadGate struct {
	mu   sync.Mutex
	shut bool
}

// close returns when nothing is read any more.
func (g *uploadGate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
}

// responseHead is how a response begins: its head, and what the first read gave of a
// body that is no event stream.
type responseHead struct {
	resp    *http.Response
	buf     *capability.Chunk
	n       int
	readErr error // of the last read; io.EOF when the body is whole
	stream  bool  // the body is an event stream
	told    bool  // the sink has the head of that stream
}
