package httpclient

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/stream"
)

// Open implements [capability.Opener].
func (c *client) Open(g capability.Opening, r *abi.OpenRequest) (capability.Handle, abi.Status, error) {
	q := request{client: c, method: r.Method, upgrade: r.Flags&abi.Upgrade != 0}
	methods := c.origin.Methods
	if methods == nil {
		methods = defaultMethods
	}
	switch {
	case r.Flags&^(abi.Essential|abi.Upgrade) != 0:
		return nil, abi.Malformed, fmt.Errorf("flags %#x do not apply to it", r.Flags)
	case q.method == "":
		return nil, abi.Malformed, fmt.Errorf("the method is missing")
	case !slices.Contains(methods, q.method):
		return nil, abi.Denied, fmt.Errorf("%q is not granted, only %s", q.method, strings.Join(methods, ", "))
	case q.upgrade && q.method != "GET":
		return nil, abi.Malformed, fmt.Errorf("only a GET can be upgraded")
	}
	var status abi.Status
	var err error
	if q.url, status, err = c.origin.resolve(c.origin.base, r.Target); err != nil {
		return nil, status, err
	}
	if status, err = q.setHeader(r.Headers); err != nil {
		return nil, status, err
	}
	if !q.upgrade {
		return newExchange(g, q), abi.OK, nil
	}
	if q.header["Upgrade"] == nil {
		return nil, abi.Malformed, fmt.Errorf("the header upgrade is missing: it says what to upgrade to")
	}
	return stream.New(g, q.serve), abi.OK, nil
}

// setHeader makes the header of the request from the pairs of a guest. Most requests of a guest
// have the same header as the one before.
func (q *request) setHeader(pairs []abi.Pair) (status abi.Status, err error) {
	c := q.client
	if last := c.last.Load(); last != nil && !q.upgrade && last.own == c.headers.Load() && slices.Equal(pairs, last.pairs) {
		q.header, q.own, q.whole = last.header, last.own, true
		return abi.OK, nil
	}
	q.header, status, err = requestHeaders(pairs, q.upgrade, len(c.origin.Headers)+1) // one more is the User-Agent
	if err == nil && !q.upgrade && c.prepared.Load() {
		q.own, q.whole = c.headers.Load(), true
		maps.Copy(q.header, *q.own)
		c.last.Store(&wholeHeader{slices.Clone(pairs), q.own, q.header})
	}
	return status, err
}

// Opener implements [capability.Target].
func (o *Origin) Opener(limits *capability.Limits) capability.Opener { return newClient(o, limits) }
