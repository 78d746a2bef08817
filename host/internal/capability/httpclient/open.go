package httpclient

import (
	"fmt"
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
	more := len(c.origin.Headers) + 1 // the User-Agent
	if q.header, status, err = requestHeaders(r.Headers, q.upgrade, more); err != nil {
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

// Opener implements [capability.Target].
func (o *Origin) Opener(limits *capability.Limits) capability.Opener { return newClient(o, limits) }
