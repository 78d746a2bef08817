package httpclient

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// perform sends the request, more than once if needed, until an answer is for the guest. The caller
// closes the body of the response.
func (c *transaction) perform(ctx context.Context) (*http.Response, error) {
	if err := c.client.prepare(); err != nil {
		return nil, err
	}
	for at, hops, resent := c.url, 0, false; ; {
		resp, err := c.send(ctx, at)
		switch {
		case IsUnsent(err) && !resent:
			resent, err = true, nil
		case err != nil:
			c.unsent = hops == 0 && isUnconnected(err)
		case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
			err = c.challenge(ctx, resp)
		case IsRedirect(resp):
			c.noteNonce(resp)
			if at, err = c.follow(at, resp); err == nil && hops == MaxRedirects {
				err = capability.StatusErrorf(abi.ProtocolFailed, "the server redirects more than %d times", MaxRedirects)
			}
			hops++
		default:
			c.noteNonce(resp)
			return resp, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// send makes one hop. It adds the headers that the guest must not set. Only here is the address
// known to be within the origin, so no caller of send holds a secret.
func (c *transaction) send(ctx context.Context, at *url.URL) (*http.Response, error) {
	req := (&http.Request{
		Method: c.method, URL: at, Host: c.client.host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: c.header, Body: http.NoBody,
	}).WithContext(ctx)
	if !c.whole {
		c.own = c.client.headers.Load()
		maps.Copy(req.Header, *c.own)
	}
	if err := c.sign(ctx, req); err != nil {
		return nil, err
	}
	if len(c.body) > 0 {
		req.ContentLength = int64(len(c.body))
		req.GetBody = c.reader
		req.Body, _ = c.reader()
	}
	if c.slot.Reach() < capability.Ready { // once there was a connection, a trace would only cost
		req = req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			ConnectDone: func(_, _ string, err error) {
				if err == nil {
					c.slot.Reached(capability.Connected)
				}
			},
			GotConn: func(httptrace.GotConnInfo) { c.slot.Reached(capability.Ready) },
		}))
	}
	c.await(forHead)
	resp, err := c.client.transport.RoundTrip(req)
	if !IsUnsent(err) {
		c.slot.Requested(err == nil)
	}
	return resp, err
}

// follow returns the target of a redirect, if it is within the grant. The method stays, because a
// POST that became a GET would seem to have succeeded.
func (c *transaction) follow(from *url.URL, resp *http.Response) (*url.URL, error) {
	defer Discard(resp)
	to := resp.Header.Get("Location")
	if isSignInPage(to) {
		return nil, &RedirectError{resp.StatusCode, true, capability.StatusErrorf(abi.Denied, "HTTP %d redirects to a page where people sign in, %s", resp.StatusCode, cleantext.Line(BareURL(to), 200))}
	}
	keeps := resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect
	if c.method != http.MethodGet && !keeps {
		return nil, &RedirectError{resp.StatusCode, false, capability.StatusErrorf(abi.Denied, "HTTP %d redirects a %s and would turn it into a GET; is %s the right url?",
			resp.StatusCode, c.method, cleantext.Line(BareURL(to), 200))}
	}
	u, status, err := c.client.origin.resolve(from, to)
	if err != nil {
		return nil, &RedirectError{resp.StatusCode, false, capability.StatusErrorf(status, "HTTP %d redirects elsewhere: %v; if you trust it, make it the url of the server", resp.StatusCode, err)}
	}
	return u, nil
}

// isSignInPage reports whether a Location looks like that of a page where people sign in.
func isSignInPage(to string) bool {
	u, err := url.Parse(to)
	return err == nil && signInPage.MatchString(u.Host+u.Path) && !strings.HasSuffix(u.Path, "/mcp") && !strings.HasSuffix(u.Path, "/sse")
}

var signInPage = lazyregexp.New(`(?i)(^|[./])(log[-_]?in|sign[-_]?in|sso|saml2?|oauth2?|authorize)([./_-]|$)|^(accounts?|auth|idp)\.`)

// tell returns the status for the guest and the error for the user, from err.
func (c *transaction) tell(ctx context.Context, err error) (abi.Status, error) {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	status := capability.StatusOf(err, abi.ProtocolFailed)
	err = fmt.Errorf("%s %s: %w", c.method, c.client.origin.display(c.url), Explain(err))
	if c.unsent {
		err = &hostio.UnsentError{Err: err}
	}
	return status, err
}

// MaxRedirects is how many redirects one exchange may follow.
const MaxRedirects = 3
