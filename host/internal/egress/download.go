package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
)

// downloadTime is what a download may take, from the first look-up to the last
// byte, redirects included.
const downloadTime = 2 * time.Minute

// errDownloadTimeout is what ends a download that takes too long.
var errDownloadTimeout = fmt.Errorf("no whole answer within %v: %w", downloadTime, context.DeadlineExceeded)

// Download makes one GET whose answer is a file of at most limit bytes. A longer
// one is a [*RuleError]; so is one that is shorter than it was said to be. The
// errors are those of Fetch otherwise. An answer other than 200 has no body here.
//
// In contrast to Fetch it follows redirects to other origins that the [Policy] lets
// it call: the places that releases are published at send everybody on to where
// the files lie. The request's header stays behind then, with what may be in it.
func (f *Fetcher) Download(ctx context.Context, r FetchRequest, limit int64) (*FetchResponse, error) {
	r.Method, r.Body = http.MethodGet, nil
	u, header, err := r.read()
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", cleantext.Line(httpclient.BareURL(r.URL), 200), err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, downloadTime, errDownloadTimeout)
	defer cancel()
	e := &outgoing{method: http.MethodGet, url: u, header: header}
	answer, err := f.followAnywhere(ctx, e, r.Redirects, limit)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	default:
		err = httpclient.Explain(err)
	}
	return nil, fmt.Errorf("GET %s: %w", cleantext.Line(httpclient.BareURL(e.url.String()), 200), err)
}

// followAnywhere is travel for a download.
func (f *Fetcher) followAnywhere(ctx context.Context, e *outgoing, redirects int, limit int64) (*FetchResponse, error) {
	for hops := 0; ; hops++ {
		resp, err := f.send(ctx, e)
		if err != nil {
			return nil, err
		}
		if !httpclient.IsRedirect(resp) {
			return readFile(e, resp, limit)
		}
		httpclient.Discard(resp)
		if hops == redirects {
			return nil, ruleErrorf("HTTP %d redirects more than %d times", resp.StatusCode, redirects)
		}
		if err := e.redirectAnywhere(resp); err != nil {
			return nil, fmt.Errorf("HTTP %d redirects: %w", resp.StatusCode, err)
		}
	}
}

// redirectAnywhere turns a request to where an answer leads. The policy of the
// route decides whether it may go there.
func (e *outgoing) redirectAnywhere(resp *http.Response) error {
	to, err := e.location(resp)
	if err != nil {
		return err
	}
	if !sameOrigin(to, e.url) {
		e.header = http.Header{"User-Agent": {httpclient.UserAgent}}
	}
	e.url = to
	return nil
}

// readFile reads the answer to a download and closes it. Of one that is no success
// only the status counts: what comes with it is a page for people.
func readFile(e *outgoing, resp *http.Response, limit int64) (*FetchResponse, error) {
	if resp.StatusCode != http.StatusOK {
		httpclient.Discard(resp)
		return &FetchResponse{Status: resp.StatusCode, URL: e.url.String()}, nil
	}
	defer resp.Body.Close()
	if resp.ContentLength > limit {
		return nil, tooLong(limit)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, ruleErrorf("the file breaks off after %d bytes", len(body))
	case err != nil:
		return nil, err
	case int64(len(body)) > limit:
		return nil, tooLong(limit)
	}
	return &FetchResponse{Status: resp.StatusCode, URL: e.url.String(), Body: body}, nil
}

func tooLong(limit int64) error { return ruleErrorf("the file is longer than %d bytes", limit) }
