package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
)

// Bounds of the exchanges of a provider.
const (
	MaxAnswer = 256 << 10 // bytes of the body of an answer, after decompression
	MaxPosted = 1 << 20   // bytes of the body of a request
)

// fetchTimeout is the cause of the end of an exchange that takes too long.
type fetchTimeout struct{ limit time.Duration }

func (t fetchTimeout) Error() string { return fmt.Sprintf("no whole answer within %v", t.limit) }

func (fetchTimeout) Unwrap() error { return context.DeadlineExceeded }

// FetchRequest is one request of a provider.
type FetchRequest struct {
	Method string            // GET or POST
	URL    string            // https; http on this machine
	Header map[string]string // without headers about the target, the framing or the sender
	Body   []byte            // of a POST

	// Redirects is how many redirects a GET may follow, at most three, and only on its own origin.
	// With 0, a redirect is an answer like any other.
	Redirects int
}

// FetchResponse is the answer.
type FetchResponse struct {
	Status int
	URL    string            // the URL that answered
	Header map[string]string // names in lower case; fields of one name are joined with commas
	Body   []byte            // the whole body
}

// Fetch makes one exchange, within ten seconds and before ctx ends. Its errors are an
// [*OriginError], a [*RuleError], or an [*dial.AddressError] if the policy forbids the address. All
// others are errors of the network, context.DeadlineExceeded among them. They name the URL without
// its query, and quote neither headers nor bodies.
func (f *Fetcher) Fetch(ctx context.Context, r FetchRequest) (*FetchResponse, error) {
	return f.exchange(ctx, &r, fetchTime, sameOriginOnly, readAnswer)
}

// exchange makes one exchange within a time limit. redirect checks the target of a redirect; read
// reads the answer and closes it.
func (f *Fetcher) exchange(ctx context.Context, r *FetchRequest, limit time.Duration, redirect func(*outgoing, *url.URL) error, read func(*outgoing, *http.Response) (*FetchResponse, error)) (*FetchResponse, error) {
	u, header, err := r.read()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fetchTimeout{limit})
	defer cancel()
	e := &outgoing{r.Method, u, header, r.Body}
	resp, err := f.follow(ctx, e, r.Redirects, redirect)
	if err == nil {
		var answer *FetchResponse
		if answer, err = read(e, resp); err == nil {
			return answer, nil
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else {
		err = httpclient.Explain(err)
	}
	return nil, fmt.Errorf("%s %s: %w", r.Method, cleantext.Line(httpclient.BareURL(e.url.String()), 200), err)
}

// outgoing is a checked request to one URL.
type outgoing struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
}

// Check returns the fault of a request that no policy would allow.
func (r *FetchRequest) Check() error {
	_, _, err := r.read()
	return err
}

// read checks everything about a request that does not depend on its grant.
func (r *FetchRequest) read() (u *url.URL, header http.Header, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s %s: %w", cleantext.Line(r.Method, 16), cleantext.Line(httpclient.BareURL(r.URL), 200), err)
		}
	}()
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		return nil, nil, ruleErrorf("only GET and POST can be asked")
	case r.Method == http.MethodGet && len(r.Body) > 0:
		return nil, nil, ruleErrorf("a GET has no body")
	case len(r.Body) > MaxPosted:
		return nil, nil, ruleErrorf("its body is %d bytes long, it may have %d", len(r.Body), MaxPosted)
	case r.Redirects < 0 || r.Redirects > httpclient.MaxRedirects:
		return nil, nil, ruleErrorf("it wants to follow %d redirects, it may %d", r.Redirects, httpclient.MaxRedirects)
	case r.Redirects > 0 && r.Method != http.MethodGet:
		return nil, nil, ruleErrorf("only a GET may follow redirects")
	}
	if header, err = fetchHeader(r.Header); err != nil {
		return nil, nil, err
	}
	u, err = parseURL(r.URL)
	return u, header, err
}

// fetchHeader makes the header of a request from the headers of a provider.
func fetchHeader(given map[string]string) (http.Header, error) {
	header := http.Header{"User-Agent": {httpclient.UserAgent}}
	size := 0
	for name, value := range given {
		key := textproto.CanonicalMIMEHeaderKey(name)
		size += len(name) + len(value)
		switch {
		case len(given) > httpclient.MaxHeaders || size > httpclient.MaxHeaderBytes:
			return nil, ruleErrorf("it has more than %d headers, or they are longer than %d bytes", httpclient.MaxHeaders, httpclient.MaxHeaderBytes)
		case !httpclient.IsToken(name) || !httpclient.IsHeaderValue(value):
			return nil, ruleErrorf("the header %q is not a valid header", cleantext.Line(name, 64))
		case slices.Contains(reserved, key), slices.Contains(httpclient.FramingHeaders, key), strings.HasPrefix(key, "Proxy-"):
			return nil, ruleErrorf("the header %s is not for providers to send", cleantext.Line(key, 64))
		case header[key] != nil:
			return nil, ruleErrorf("the header %s stands twice", cleantext.Line(key, 64))
		}
		header[key] = []string{value}
	}
	return header, nil
}

// reserved holds the headers that name the sender, or return data kept from another request.
// Framing headers, and those for a proxy, are reserved too.
var reserved = []string{"Host", "User-Agent", "Cookie", "Cookie2", "Http2-Settings"}

// follow sends a request, and sends it again to the target of each redirect.
func (f *Fetcher) follow(ctx context.Context, e *outgoing, redirects int, redirect func(*outgoing, *url.URL) error) (*http.Response, error) {
	for hops := 0; ; hops++ {
		resp, err := f.send(ctx, e)
		if err != nil || redirects == 0 || !httpclient.IsRedirect(resp) {
			return resp, err
		}
		httpclient.Discard(resp)
		if hops == redirects {
			return nil, ruleErrorf("HTTP %d redirects more than %d times", resp.StatusCode, redirects)
		}
		to, err := e.url.Parse(resp.Header.Get("Location"))
		if err != nil {
			err = ruleErrorf("to no URL: %v", httpclient.URLCause(err))
		} else {
			to.Fragment, to.RawFragment = "", ""
			to, err = parseURL(to.String())
		}
		if err == nil {
			err = redirect(e, to)
		}
		if err != nil {
			return nil, fmt.Errorf("HTTP %d redirects: %w", resp.StatusCode, err)
		}
		e.url = to
	}
}

// sameOriginOnly lets redirects lead to the same origin alone.
func sameOriginOnly(e *outgoing, to *url.URL) error {
	if !sameOrigin(to, e.url) {
		return ruleErrorf("to %s, another origin", cleantext.Line(originOf(to), 200))
	}
	return nil
}

// send makes one hop. It makes the hop again in two cases, in both of which nothing was sent: the
// connection had been closed before a byte was written, or the refused address turns out to be on
// the server's private network.
func (f *Fetcher) send(ctx context.Context, e *outgoing) (*http.Response, error) {
	for again := true; ; again = false {
		r, err := f.route(ctx, e.url)
		if err != nil {
			return nil, err
		}
		resp, err := r.transport.RoundTrip(e.request(ctx))
		if err == nil || !again {
			return resp, err
		}
		var refused *dial.AddressError
		if !httpclient.IsUnsent(err) && !(errors.As(err, &refused) && isPrivate(refused.Addr) && f.serverIsPrivate(ctx)) {
			return nil, err
		}
	}
}

func (e *outgoing) request(ctx context.Context) *http.Request {
	req := (&http.Request{
		Method: e.method, URL: e.url,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: e.header.Clone(), Body: http.NoBody,
	}).WithContext(ctx)
	if len(e.body) > 0 {
		req.ContentLength = int64(len(e.body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(e.body)), nil }
		req.Body, _ = req.GetBody()
	}
	return req
}

// readAnswer reads a response to its end and closes it.
func readAnswer(e *outgoing, resp *http.Response) (*FetchResponse, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case len(body) > MaxAnswer:
		return nil, ruleErrorf("HTTP %d: the answer is longer than %d bytes", resp.StatusCode, MaxAnswer)
	}
	answer := &FetchResponse{Status: resp.StatusCode, URL: e.url.String(), Header: map[string]string{}, Body: body}
	for name, values := range resp.Header {
		if name != "Set-Cookie" && name != "Set-Cookie2" {
			answer.Header[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
		}
	}
	return answer, nil
}
