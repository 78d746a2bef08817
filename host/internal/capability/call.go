package capability

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// order is what a guest asked for, checked against its grant.
type order struct {
	client  *client
	method  string
	url     *url.URL
	header  http.Header
	upgrade bool
}

// call is an order that is being carried out. Its body is whole and stays as it
// is, so it can be sent again: elsewhere on the same origin, or signed in.
type call struct {
	order
	patience
	signature
	opening
	body  []byte
	left  func(n int)  // told how much of a large body is not sent yet; may be nil
	first bytes.Reader // of a small body, the first time that it is sent
	read  bool         // first is taken

	reading gate // of a large body
}

// maxHops is how many redirects one exchange may follow.
const maxHops = 3

// perform sends the request until an answer is for the guest. The caller closes
// the body of the response.
func (c *call) perform(ctx context.Context) (*http.Response, error) {
	if err := c.client.ready(); err != nil {
		return nil, err
	}
	for at, hops, resent := c.url, 0, false; ; {
		resp, err := c.send(ctx, at)
		switch {
		case isUnsent(err) && !resent:
			resent, err = true, nil
		case err != nil:
		case isChallenge(resp):
			err = c.challenge(ctx, resp)
		case isRedirect(resp):
			c.note(resp)
			if at, err = c.follow(at, resp); err == nil && hops == maxHops {
				err = StatusErrorf(abi.ProtocolFailed, "the server redirects more than %d times", maxHops)
			}
			hops++
		default:
			c.note(resp)
			return resp, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// send performs one hop. What the guest must not say is added here, where the
// address is known to be the origin's: nothing above this line holds a secret.
func (c *call) send(ctx context.Context, at *url.URL) (*http.Response, error) {
	req := (&http.Request{
		Method: c.method, URL: at, Host: c.client.host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: c.header, Body: http.NoBody,
	}).WithContext(ctx)
	for name, values := range c.client.own {
		req.Header[name] = values
	}
	if err := c.sign(ctx, req); err != nil {
		return nil, err
	}
	c.load(req)
	c.begin(forHead)
	return c.client.transport.RoundTrip(req)
}

// inMemory is the longest body that is given to net/http as bytes: it goes out
// in one piece with the head. A longer one is watched on its way.
const inMemory = ChunkSize

func (c *call) load(req *http.Request) {
	if len(c.body) == 0 {
		return
	}
	req.ContentLength = int64(len(c.body))
	req.GetBody = c.reader
	req.Body, _ = c.reader()
}

// reader returns the body from its start. net/http knows what it gets for a small
// one, and writes it together with the head. A reader that it has had before may
// still be in its hands.
func (c *call) reader() (io.ReadCloser, error) {
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
	call *call
	rest []byte
}

func (u *upload) Read(p []byte) (int, error) {
	n, open := u.call.reading.copy(p, u.rest)
	if !open {
		return 0, net.ErrClosed
	}
	u.rest = u.rest[n:]
	u.call.taken(len(u.rest) == 0)
	if u.call.left != nil {
		u.call.left(len(u.rest))
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (u *upload) Close() error { return nil }

// gate keeps net/http from a body that has gone back to its owner. An answer may
// come, or a caller leave, before all of the request was sent, and nobody hears
// when the goroutine that sends it stops.
type gate struct {
	mu   sync.Mutex
	shut bool
}

func (g *gate) copy(to, from []byte) (n int, open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return 0, false
	}
	return copy(to, from), true
}

// cut returns when nothing is read any more.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
}

func isRedirect(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	}
	return false
}

// follow returns where a redirect leads, if this grant leads there too. The
// method stays: a POST that became a GET would look as if it had been done.
func (c *call) follow(from *url.URL, resp *http.Response) (*url.URL, error) {
	defer discard(resp)
	to := resp.Header.Get("Location")
	keeps := resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect
	if c.method != http.MethodGet && !keeps {
		return nil, StatusErrorf(abi.Denied, "HTTP %d redirects a %s and would turn it into a GET; is %s the right url?",
			resp.StatusCode, c.method, cleantext.Line(bare(to), 200))
	}
	u, status, err := c.client.origin.resolve(from, to)
	if err != nil {
		return nil, StatusErrorf(status, "HTTP %d redirects elsewhere: %v; if you trust it, make it the url of the server", resp.StatusCode, err)
	}
	return u, nil
}

// isUnsent reports whether a request failed because its connection had been
// closed by the server, who was in the right: nobody used it. net/http closes its
// own side when it learns of that, and only then is a request that gets hold of
// the connection told so; not one byte of it is written. It does not send a POST
// again all the same, and has no other name for this error than its text.
//
// There are two ways to have net/http send more, and neither is for us. A request
// that is marked as idempotent (an Idempotency-Key, even one that is not sent) is
// repeated as well when the server read it and hung up without an answer. And
// what a connection breaks with after a byte was written tells nothing about how
// far the server came. A tool must not be called twice, so such a request fails.
// When no byte was written and the error is another one, a reset for instance,
// net/http sends it again by itself: its body can be had a second time.
func isUnsent(err error) bool {
	return err != nil && err.Error() == "http: server closed idle connection"
}

// discard reads the little that is usually left, so that the connection can be
// used again, and closes the body.
func discard(resp *http.Response) {
	io.CopyN(io.Discard, resp.Body, 4<<10)
	resp.Body.Close()
}

// tell makes of an error what the sink hears.
func (c *call) tell(ctx context.Context, err error) (abi.Status, error) {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return statusOf(err, abi.ProtocolFailed), fmt.Errorf("%s %s: %w", c.method, c.client.origin.label(c.url), explainHTTP(err))
}

// explainHTTP adds to an error of an exchange what to look at.
func explainHTTP(err error) error {
	var unknown *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, new(*Refusal)): // which says all that there is to say
		return err
	case errors.As(err, &record):
		return fmt.Errorf("the server does not speak TLS; is its url http://…? (%w)", err)
	case errors.As(err, &unknown):
		return explainCertificate(unknown)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the server broke off in the middle of its answer: %w", err)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the server closed the connection without an answer: %w", err)
	case errors.Is(err, net.ErrClosed) && operation(err) == "write": // net/http closed our side when the server closed the other
		return fmt.Errorf("the server closed the connection without an answer: %w", cause(err))
	}
	return explain(err)
}
