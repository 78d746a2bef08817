package httpclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// sign adds the headers of the credentials to a request. It does not change the guest's
// header: the next attempt must not have the credentials of this one.
func (c *call) sign(ctx context.Context, r *http.Request) error {
	c.sent, c.signed = nil, c.client.origin.signs(c.method, r.URL)
	if !c.signed {
		return nil
	}
	c.stop()
	given, err := c.client.origin.Credentials.Apply(ctx, &Request{
		Method: c.method, URL: r.URL.String(), Host: cmp.Or(r.Host, r.URL.Host),
		Headers:  func() []abi.Pair { return signableHeaders(r.Header) },
		BodyHash: func() [sha256.Size]byte { return sha256.Sum256(c.body) },
		Body:     c.body,
	})
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

// signableHeaders returns the headers that reach the server as they are.
func signableHeaders(header http.Header) []abi.Pair {
	var pairs []abi.Pair
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			if !slices.Contains(FramingHeaders, name) {
				pairs = append(pairs, abi.Pair{Key: strings.ToLower(name), Value: value})
			}
		}
	}
	return pairs
}

// checkSigned checks the headers that credentials give. Values are secrets, and a name
// may be a value in the wrong place, so an error quotes only names of known headers.
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
		case canonical[strings.ToLower(key)] != "" || strings.HasPrefix(key, "Mcp-Param-") || strings.HasPrefix(key, "Sec-Websocket-"):
			return fmt.Errorf("the credentials set a header of the protocol (%s)", protocolHeaders)
		case c.configured[key]:
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

// challenge holds a 401 or 403 until the credentials have decided. Without an
// error the request has to be sent again.
func (c *call) challenge(ctx context.Context, resp *http.Response) error {
	c.await(forBody)
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxHeld))
	Discard(resp)
	c.stop()
	c.rounds++
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !c.signed || c.rounds > maxRounds {
		return c.refusal(resp, body, nil)
	}
	retry, err := c.client.origin.Credentials.Challenge(ctx, &Challenge{
		Method: c.method, URL: resp.Request.URL.String(), Status: resp.StatusCode, Round: c.rounds,
		Authenticate: resp.Header["Www-Authenticate"], AuthServer: resp.Header.Get("Mcp-Auth-Server"),
		DPoPNonce: resp.Header.Get("Dpop-Nonce"), Body: body, Sent: c.sent,
	})
	if retry && err == nil {
		return nil
	}
	return c.refusal(resp, body, err)
}

// noteNonce tells the credentials the nonce of an answer that is no challenge.
func (c *call) noteNonce(resp *http.Response) {
	if nonce := resp.Header["Dpop-Nonce"]; c.signed && len(nonce) > 0 {
		c.client.origin.Credentials.Nonce(nonce[0])
	}
}

// refusal makes the error of a challenge that no credentials answered. err may be nil. It
// takes the credentials out of the texts of the server: some servers repeat what they
// refuse, and the error is written to a log.
func (c *call) refusal(resp *http.Response, body []byte, err error) *Refusal {
	const most = 4 // challenges
	var secrets redact.Set
	for _, p := range c.sent {
		secrets.HideNamed(p.Value)
	}
	clean := func(text []byte) string { return cleantext.Line(string(secrets.Redact(text)), 1<<10) }
	r := &Refusal{
		HTTP: resp.StatusCode, Body: clean(body), AuthServer: clean([]byte(resp.Header.Get("Mcp-Auth-Server"))),
		Signed: len(c.sent) > 0, Configured: c.client.configured["Authorization"], Err: err,
	}
	for _, field := range resp.Header["Www-Authenticate"][:min(most, len(resp.Header["Www-Authenticate"]))] {
		r.Challenges = append(r.Challenges, clean([]byte(field)))
	}
	return r
}
