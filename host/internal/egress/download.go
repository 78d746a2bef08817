package egress

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
)

// downloadTime is the longest time of a download, from the first look-up to the last byte,
// redirects included.
const downloadTime = 2 * time.Minute

// Download makes one GET whose answer is a file of at most limit bytes. A longer file is a
// [*RuleError]; so is one that is shorter than announced. Other errors are those of Fetch. Of an
// answer other than 200 the body is here if it is JSON, up to 4 KiB.
//
// In contrast to Fetch it follows redirects to other origins that the [Policy] allows:
// sites that publish releases redirect to where the files are. The request's header, which
// may hold secrets, is not sent there.
func (f *Fetcher) Download(ctx context.Context, r FetchRequest, limit int64) (*FetchResponse, error) {
	r.Method, r.Body = http.MethodGet, nil
	return f.exchange(ctx, &r, downloadTime, dropHeader, func(e *outgoing, resp *http.Response) (*FetchResponse, error) {
		return readFile(e, resp, limit)
	})
}

// dropHeader lets redirects lead anywhere, without the request's header. The policy of the route
// decides whether the target is allowed.
func dropHeader(e *outgoing, to *url.URL) error {
	if !sameOrigin(to, e.url) {
		e.header = http.Header{"User-Agent": {httpclient.UserAgent}}
	}
	return nil
}

// maxProblem is how many bytes are read of the JSON of an answer that is no success.
const maxProblem = 4 << 10

// readFile reads the answer to a download and closes it.
func readFile(e *outgoing, resp *http.Response, limit int64) (*FetchResponse, error) {
	if resp.StatusCode != http.StatusOK {
		got := &FetchResponse{Status: resp.StatusCode, URL: e.url.String()}
		if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); strings.HasSuffix(kind, "json") { // other bodies are pages for people
			got.Body, _ = io.ReadAll(io.LimitReader(resp.Body, maxProblem))
		}
		httpclient.Discard(resp)
		return got, nil
	}
	defer resp.Body.Close()
	var body []byte
	var err error
	if resp.ContentLength <= limit {
		body, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, ruleErrorf("it breaks off after %d bytes", len(body))
	case err != nil:
		return nil, err
	case resp.ContentLength > limit || int64(len(body)) > limit:
		return nil, ruleErrorf("it is longer than %d bytes", limit)
	}
	return &FetchResponse{Status: resp.StatusCode, URL: e.url.String(), Body: body}, nil
}
