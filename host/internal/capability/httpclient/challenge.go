package httpclient

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// challenge passes a 401 or 403 to the credentials. If it returns nil, the caller sends the
// request again.
func (c *transaction) challenge(ctx context.Context, resp *http.Response) error {
	c.await(forBody)
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxHeld))
	Discard(resp)
	c.stop()
	c.challenges++
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !c.signed || c.challenges > maxChallenges {
		return c.refusal(resp, body)
	}
	refusal := c.refusal(resp, body)
	retry, err := c.client.origin.Credentials.Challenge(ctx, &Challenge{
		Method: c.method, URL: resp.Request.URL.String(), Status: resp.StatusCode, Number: c.challenges,
		Authenticate: resp.Header["Www-Authenticate"], AuthServer: resp.Header.Get("Mcp-Auth-Server"),
		DPoPNonce: resp.Header.Get("Dpop-Nonce"), Body: body, Said: refusal.Said(), Sent: c.sent,
	})
	if retry && err == nil {
		return nil
	}
	refusal.Err = err
	return refusal
}

// noteNonce passes the nonce of an answer that is no challenge to the credentials.
func (c *transaction) noteNonce(resp *http.Response) {
	if nonce := resp.Header["Dpop-Nonce"]; c.signed && len(nonce) > 0 {
		c.client.origin.Credentials.Nonce(nonce[0])
	}
}

// refusal returns the error of a challenge that the credentials did not answer. It removes the credentials
// from the server's text, because some servers repeat the credentials that they refuse, and the error is
// logged.
func (c *transaction) refusal(resp *http.Response, body []byte) *Refusal {
	const most = 4 // challenges
	var secrets redact.Set
	for _, p := range c.sent {
		secrets.HideNamed(p.Value)
	}
	clean := func(text []byte) string { return cleantext.Line(string(secrets.Redact(text)), 1<<10) }
	r := &Refusal{
		HTTP: resp.StatusCode, Body: clean(body), AuthServer: clean([]byte(resp.Header.Get("Mcp-Auth-Server"))),
		Signed: len(c.sent) > 0, Configured: c.client.configured["Authorization"],
	}
	for _, field := range resp.Header["Www-Authenticate"][:min(most, len(resp.Header["Www-Authenticate"]))] {
		r.Challenges = append(r.Challenges, clean([]byte(field)))
	}
	leads := func(challenge string) bool { return strings.Contains(challenge, "resource_metadata") } // leads to a sign-in
	if !r.Signed && !r.Configured && !slices.ContainsFunc(r.Challenges, leads) {
		r.Keys = c.client.origin.Keys
	}
	return r
}

const (
	maxChallenges = 3        // challenges of one exchange that are followed by another attempt
	maxHeld       = 64 << 10 // bytes of the body of a challenge that are read
)
