package httpclient

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
)

// readHead takes ownership of a response, and reads the part of its body that goes with its head.
func (c *transaction) readHead(resp *http.Response) {
	c.resp, c.buf, c.stream = resp, capability.GetChunk(), isEventStream(resp.Header)
	if !c.stream {
		c.await(forBody)
		c.n, c.readErr = fill(resp.Body, c.buf[:])
	}
}

// close closes the response.
func (o *responseHead) close() {
	if o.resp != nil {
		o.resp.Body.Close()
		capability.PutChunk(o.buf)
		*o = responseHead{}
	}
}

// relay passes a response on: the head with the part of the body that was read with it,
// and the rest in chunks, of which one is in flight.
func (c *transaction) relay(v *capability.Emitter) error {
	if c.stream {
		for c.readErr == nil {
			c.relayNext(v)
		}
		return c.bodyError(c.readErr)
	}
	resp, n, err := c.resp, c.n, c.readErr
	v.Head(resp.StatusCode, visibleHeaders(resp.Header), resp.ContentLength, c.buf[:n], err == io.EOF)
	for total := int64(n); err == nil; total += int64(n) {
		if total > c.limits.Answer {
			return capability.StatusErrorf(abi.TooLarge, "HTTP %d: the answer is longer than %d bytes", resp.StatusCode, c.limits.Answer)
		}
		if n, err = fill(resp.Body, c.buf[:]); n > 0 {
			v.Data(c.buf[:n], err == io.EOF)
		} else if err == io.EOF {
			v.End()
		}
	}
	return c.bodyError(err)
}

// relayNext relays the next piece of an event stream, the first one with the head. A stream may go
// on for ever, so each piece is passed on as it comes, and only silence has a limit.
func (c *transaction) relayNext(v *capability.Emitter) {
	if !c.told {
		c.told = true
		v.Head(c.resp.StatusCode, visibleHeaders(c.resp.Header), -1, nil, false)
	}
	c.await(forStream)
	n, err := c.resp.Body.Read(c.buf[:])
	c.stop()
	if n > 0 {
		v.Data(c.buf[:n], err == io.EOF)
	} else if err == io.EOF {
		v.End()
	}
	c.readErr = err
}

// fill reads until p is full or a read fails. At the end of the body it returns io.EOF.
func fill(body io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = body.Read(p[n:])
		n += m
	}
	return n, err
}

// bodyError returns the error of reading the body; the end of the body is none. It tells a body that
// is not compressed as it says.
func (c *transaction) bodyError(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case c.resp.Uncompressed && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrHeader)):
		return fmt.Errorf("%w: %w", errNotGzip, err)
	}
	return err
}

func isEventStream(header http.Header) bool {
	kind, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}
