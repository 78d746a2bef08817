package capability

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/abi"
)

// Credentials sign the requests of one origin in. Their methods are called from
// goroutines of exchanges, several at a time, and may take as long as they need;
// ctx ends when the exchange is no longer wanted.
type Credentials interface {
	// Apply adds to a request what signs it in. It is called for each time that
	// the request is sent, and may change its headers and nothing else.
	Apply(ctx context.Context, r *http.Request) error

	// Challenge is asked about a 401 or 403. With retry the request is sent once
	// more, with what Apply gives it then; without, the exchange fails, and err
	// says why if it can. The body is held whole, up to 64 KiB, and has not to
	// be closed.
	Challenge(ctx context.Context, r *http.Response) (retry bool, err error)
}

// maxHeld is how much of the body of a 401 or 403 is kept.
const maxHeld = 64 << 10

// Refusal is the error of an exchange that the server answered with 401 or 403,
// when nothing could sign it in. The guest only hears that it was denied.
type Refusal struct {
	HTTP       int      // 401 or 403
	Body       string   // what the server said, shortened, without control characters
	Challenges []string // its WWW-Authenticate fields, treated likewise
	AuthServer string   // its Mcp-Auth-Server field, treated likewise
	Err        error    // why the credentials did not help; may be nil
}

func (e *Refusal) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP %d", e.HTTP)
	if e.Body != "" {
		fmt.Fprintf(&b, ": %s", e.Body)
	}
	for _, c := range e.Challenges {
		fmt.Fprintf(&b, "; WWW-Authenticate: %s", c)
	}
	if e.AuthServer != "" {
		fmt.Fprintf(&b, "; Mcp-Auth-Server: %s", e.AuthServer)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, "; sign in: %v", e.Err)
	}
	return b.String()
}

func (e *Refusal) Unwrap() error { return e.Err }

// Status is what a guest may know of it.
func (*Refusal) Status() abi.Status { return abi.Denied }

// signInError is the error of credentials that have nothing to give.
type signInError struct{ err error }

func (e *signInError) Error() string    { return fmt.Sprintf("sign in: %v", e.err) }
func (e *signInError) Unwrap() error    { return e.err }
func (*signInError) Status() abi.Status { return abi.Denied }

// challenge holds a 401 or 403 until the credentials have decided. Without an
// error the request may be sent again. That is done once: a server that is not
// content with a new token will not be with the next one.
func (c *call) challenge(ctx context.Context, resp *http.Response, again bool) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxHeld))
	discard(resp)
	creds := c.client.origin.Credentials
	if creds == nil || again {
		return newRefusal(resp, body, nil)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	c.rest()
	retry, err := creds.Challenge(ctx, resp)
	if retry && err == nil {
		return nil
	}
	return newRefusal(resp, body, err)
}

func newRefusal(resp *http.Response, body []byte, err error) *Refusal {
	const most = 4 // challenges
	r := &Refusal{HTTP: resp.StatusCode, Body: clean(string(body), 1<<10), Err: err}
	for _, c := range resp.Header.Values("WWW-Authenticate") {
		if len(r.Challenges) < most {
			r.Challenges = append(r.Challenges, clean(c, 1<<10))
		}
	}
	r.AuthServer = clean(resp.Header.Get("Mcp-Auth-Server"), 1<<10)
	return r
}

// clean makes a text of somebody else fit to be shown to a person: without what
// steers a terminal or turns the direction of writing, on one line, and no
// longer than limit bytes.
func clean(s string, limit int) string {
	const more = "…"
	s = strings.Join(strings.FieldsFunc(s[:min(len(s), 4*limit)], isUnfit), " ")
	if len(s) <= limit {
		return s
	}
	cut := limit - len(more)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + more
}

// isUnfit reports whether r is white space, steers something or is no letter at
// all. The last are the format characters, of which some cannot be seen.
func isUnfit(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError
}
