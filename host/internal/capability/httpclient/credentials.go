package httpclient

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
)

// Credentials sign in the requests of one origin: those under
// [Origin.SignedPath] whose method is in [Origin.SignedMethods], be it a POST, a
// stream, an upgrade or the DELETE at the end. No other request is shown to
// them, and nothing that they say goes with one: not to another path of the
// origin, and not to where a redirect leads out of it.
//
// A guest is on neither side of this. Its request is whole before Apply sees it,
// what Apply says stands in place of what the guest said, and a refusal is held
// here with all that it holds. The guest hears of the answer that counts, or that
// it was denied.
//
// One exchange makes these calls one after the other, its server's clock stopped:
//
//	Apply, and the request is sent
//	  401 or 403: Challenge; with retry from Apply on, three times at most
//	  a redirect within the grant: from Apply on, with the new URL
//	  Nonce, if the answer holds one, and the answer is passed on
//
// Many exchanges make them at a time, so two refusals of one token come as two
// Challenges. [Challenge.Sent] tells whether a token is newer than the one that
// was refused, and another attempt all that it takes.
type Credentials interface {
	// Apply returns the headers that sign r in; none leaves it as it is. It is
	// called anew each time that r is sent, so a proof that is good for one use
	// is never used twice. It may take as long as a refresh or a person takes,
	// and ends when ctx does: the caller has given the exchange up then.
	//
	// With an error nothing is sent, and the exchange fails with a *[Refusal]
	// that wraps it. So it does for a header that no credential may set: one that
	// says where a request goes or how it is framed, that is the protocol's, or
	// that the user has configured. A name that comes twice is a header with two
	// values.
	Apply(ctx context.Context, r *Request) ([]abi.Pair, error)

	// Challenge is asked about a 401 or 403. With retry the request is sent once
	// more, with what Apply gives it then. Without, or with an error, the
	// exchange fails with a *[Refusal] that wraps the error; one that says what
	// to do next is shown to the user. ctx is as in Apply.
	Challenge(ctx context.Context, c *Challenge) (retry bool, err error)

	// Nonce is told the DPoP-Nonce of each answer to a signed request that is no
	// challenge, whatever its status: a server renews its nonce with a 200 (RFC
	// 9449, section 8.2). It comes before the guest hears of the answer, so the
	// request that follows can have it, and must not block.
	Nonce(nonce string)
}

// Request is a request as credentials see it, about to be sent. It is theirs
// until Apply returns.
type Request struct {
	Method string
	URL    string // absolute, as it is sent, with its query
	Host   string // the header Host, which is not always the URL's

	// Headers returns the other headers, sorted and with their names in lower
	// case, for those who sign them. It leaves out those that net/http adds and
	// those that a proxy may change.
	Headers func() []abi.Pair

	// BodyHash returns the hash of the body, which is all that credentials learn
	// of it.
	BodyHash func() [sha256.Size]byte
}

// Challenge is a 401 or 403 to a request that was signed in, or might have been.
// Nothing in it is checked: it is what the server says.
type Challenge struct {
	Method, URL string // of the request that was refused
	Status      int    // 401 or 403
	Round       int    // how often this exchange was refused: 1, 2 or 3

	Authenticate []string // each WWW-Authenticate field
	AuthServer   string   // the field Mcp-Auth-Server
	DPoPNonce    string   // the field DPoP-Nonce
	Body         []byte   // the first 64 KiB of it

	Sent []abi.Pair // what Apply had returned for the request
}

const (
	maxRounds = 3        // challenges of one exchange that are followed by another attempt
	maxHeld   = 64 << 10 // bytes of the body of a challenge that are read
)

// signature is what a call was last signed in with.
type signature struct {
	signed bool       // by our credentials; false outside of what they sign
	sent   []abi.Pair // what they gave
	rounds int        // challenges so far
}

// signs reports whether credentials see a request.
func (o *Origin) signs(method string, u *url.URL) bool {
	prefix := o.SignedPath
	if prefix == "" {
		prefix = o.base.EscapedPath()
	}
	return o.Credentials != nil && isUnder(u.EscapedPath(), prefix) &&
		(o.SignedMethods == nil || slices.Contains(o.SignedMethods, method))
}

// sign adds to a request what the credentials say. The guest's header is left
// alone: the next attempt must not find what signed the last one in.
func (c *call) sign(ctx context.Context, r *http.Request) error {
	c.sent, c.signed = nil, c.client.origin.signs(c.method, r.URL)
	if !c.signed {
		return nil
	}
	c.stop()
	given, err := c.client.origin.Credentials.Apply(ctx, c.describe(r))
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

// describe is a request as credentials see it.
func (c *call) describe(r *http.Request) *Request {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	return &Request{
		Method: c.method, URL: r.URL.String(), Host: host,
		Headers:  func() []abi.Pair { return signableHeaders(r.Header) },
		BodyHash: func() [sha256.Size]byte { return sha256.Sum256(c.body) },
	}
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

// checkSigned holds credentials to what they may say. The values are secrets, and
// so is a name that stands where a value should, so no error quotes more than the
// name of a header that is known.
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
		case isProtocolHeader(strings.ToLower(key)):
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

// protocolHeaders names what isProtocols finds, for people.
const protocolHeaders = "Accept, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Param-…, Mcp-Protocol-Version, Mcp-Session-Id, Sec-WebSocket-…"

// isProtocolHeader reports whether a header says what a message is or to which session
// it belongs. A provider has no part in either.
func isProtocolHeader(name string) bool {
	return canonical[name] != "" || strings.HasPrefix(name, "mcp-param-") || strings.HasPrefix(name, "sec-websocket-")
}

func isChallenge(resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
}

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

// noteNonce tells the credentials what is new in an answer that is no challenge.
func (c *call) noteNonce(resp *http.Response) {
	if nonce := resp.Header["Dpop-Nonce"]; c.signed && len(nonce) > 0 {
		c.client.origin.Credentials.Nonce(nonce[0])
	}
}

// redact takes out of a text of the server what signed us in: some servers
// repeat what they do not like, and the text ends in a log.
func (c *call) redact(s string) string {
	const mark, least = "…", 8
	for _, p := range c.sent {
		if p.Value != "" {
			s = strings.ReplaceAll(s, p.Value, mark)
		}
		if _, secret, _ := strings.Cut(p.Value, " "); len(secret) >= least {
			s = strings.ReplaceAll(s, secret, mark)
		}
	}
	return s
}
