package httpclient

import (
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// challenge answers a 401 or 403 with the configured headers, if they are others by now, or else passes it to the
// credentials. If it returns nil, the caller sends the request again.
func (c *transaction) challenge(ctx context.Context, resp *http.Response) error {
	c.await(forBody)
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxHeld))
	Discard(resp)
	c.stop()
	c.challenges++
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	refusal := c.refusal(resp, body)
	if c.challenges > maxChallenges {
		return refusal
	}
	if c.client.origin.Reread != nil {
		renewed, err := c.reread(ctx)
		if renewed {
			return nil
		}
		if refusal.Reread = err == nil; resp.StatusCode == http.StatusUnauthorized {
			refusal.Err = err
		}
	}
	if !c.signed {
		return refusal
	}
	retry, err := c.client.origin.Credentials.Challenge(ctx, &Challenge{
		Method: c.method, URL: resp.Request.URL.String(), Status: resp.StatusCode, Number: c.challenges,
		Authenticate: resp.Header["Www-Authenticate"], AuthServer: resp.Header.Get("Mcp-Auth-Server"),
		DPoPNonce: resp.Header.Get("Dpop-Nonce"), Body: body, Said: refusal.Said(), Sent: c.sent,
	})
	if retry && err == nil {
		return nil
	}
	if err != nil {
		refusal.Err = err
	}
	return refusal
}

// reread takes the configured headers as they are now, and reports whether they are others than those that the request
// was sent with. Another request may have read them meanwhile.
func (c *transaction) reread(ctx context.Context) (renewed bool, err error) {
	client := c.client
	if client.headers.Load() == c.own {
		pairs, err := client.origin.Reread(ctx)
		if err != nil {
			return false, err
		}
		now, err := configuredHeaders(pairs)
		if err != nil {
			return false, err
		}
		now.Del("Host") // says where the request goes, and stays
		if maps.EqualFunc(now, *c.own, slices.Equal) {
			return false, nil
		}
		client.headers.CompareAndSwap(c.own, &now)
	}
	c.header = maps.Clone(c.header)
	for name := range *c.own {
		delete(c.header, name)
	}
	c.whole = false
	return true, nil
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
