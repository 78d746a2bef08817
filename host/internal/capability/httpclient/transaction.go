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

// request is a guest's request, checked against its grant.
type request struct {
	client  *client
	method  string
	url     *url.URL
	header  http.Header
	own     *http.Header // those of the client that are in header; nil before they are
	whole   bool         // header is complete and shared with other requests: it must not be changed
	upgrade bool
}

// transaction is a request that is being carried out. Its body is complete and does not change, so
// it can be sent again: to another URL of the same origin, or signed in.
type transaction struct {
	request
	slot *capability.Slot // of the handle
	phaseTimer
	signature
	responseHead
	body   []byte
	unsent bool         // it has failed, and certainly no byte of it was sent
	left   func(n int)  // receives how many bytes of a large body are not sent yet; may be nil
	first  bytes.Reader // for the first time that a small body is sent
	read   bool         // first is in use

	reading uploadGate // for a large body
}

// signature holds how a request was last signed in.
type signature struct {
	signed     bool       // by the credentials; false outside of their scope
	sent       []abi.Pair // the headers that they returned
	challenges int        // challenges so far
}

// inMemory is the longest body that net/http gets as bytes: it goes out in one piece with the head.
// A longer one is timed while it is sent.
const inMemory = capability.ChunkSize

// reader returns the body from its start. For a small body it has a type that net/http knows and
// writes together with the head. net/http may still use the reader that it got before.
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

// upload is a large body while it is sent.
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

// uploadGate keeps net/http from reading a body that has gone back to its owner. An answer may
// come, or a caller leave, before all of the request was sent, and net/http does not report when
// its sending goroutine stops.
type uploadGate struct {
	mu   sync.Mutex
	shut bool
}

// close returns when no read is running, and makes later reads fail.
func (g *uploadGate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
}

// responseHead is the beginning of a response: its head and, unless the body is an event stream,
// the first bytes of the body.
type responseHead struct {
	resp    *http.Response
	buf     *capability.Chunk
	n       int
	readErr error // of the last read; io.EOF when the body is whole
	stream  bool  // the body is an event stream
	told    bool  // the sink has got the head of that stream
}
