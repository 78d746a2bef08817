package httpclient

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// sign adds the headers of the credentials to a request. It does not change the guest's header,
// because the next attempt must not have these credentials.
func (c *transaction) sign(ctx context.Context, r *http.Request) error {
	c.sent, c.signed = nil, c.client.origin.signs(c.method, r.URL)
	if !c.signed {
		return nil
	}
	c.stop()
	given, err := c.client.origin.Credentials.Apply(ctx, &Request{r, c.body})
	if err == nil {
		err = c.client.checkSigned(given)
	}
	if err != nil {
		return &Refusal{Err: err}
	}
	if len(given) == 0 {
		return nil
	}
	c.sent, r.Header = given, maps.Clone(r.Header)
	for _, p := range given {
		delete(r.Header, textproto.CanonicalMIMEHeaderKey(p.Key))
	}
	for _, p := range given {
		r.Header.Add(p.Key, p.Value)
	}
	return nil
}

// checkSigned checks the headers that credentials return. Values are secrets, and a name may be a
// misplaced value, so an error quotes only the names of known headers.
func (c *client) checkSigned(given []abi.Pair) error {
	size := 0
	for _, p := range given {
		key := textproto.CanonicalMIMEHeaderKey(p.Key)
		size += len(p.Key) + len(p.Value)
		switch {
		case !IsToken(p.Key):
			return fmt.Errorf("the credentials set a header whose name is not valid: want letters, digits and hyphens")
		case !IsHeaderValue(p.Value):
			return fmt.Errorf("the credentials set a header to a value with a line end or another control character")
		case key == "Host" || slices.Contains(FramingHeaders, key):
			return fmt.Errorf("the credentials set the header %s, which is not theirs to set", key)
		case hostio.OfProtocol(key) || strings.HasPrefix(key, "Sec-Websocket-"):
			return fmt.Errorf("the credentials set a header of the protocol (%s)", protocolHeaders)
		case c.configured[key] && !c.origin.CredentialsWin:
			return fmt.Errorf("the credentials set the header %s, and so do the headers of the server's entry: remove one of the two", key)
		}
	}
	if len(given) > MaxHeaders || size > MaxHeaderBytes {
		return fmt.Errorf("the credentials set %d headers of %d bytes, there may be %d of %d", len(given), size, MaxHeaders, MaxHeaderBytes)
	}
	return nil
}

// protocolHeaders names, for people, the headers that say what a message is or to which
// session it belongs. A provider may set neither.
const protocolHeaders = "Accept, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Param-…, Mcp-Protocol-Version, Mcp-Session-Id, Sec-WebSocket-…"
