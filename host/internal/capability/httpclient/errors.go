package httpclient

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// IsUnsent reports whether a request failed because the server had closed its connection, which is
// allowed for an idle one. When net/http learns of that, it closes its own side. A request that
// gets the connection afterwards has this error, and not one byte of it was written. Even so
// net/http does not send a POST again, and only its text identifies the error.
//
// There are two ways to make net/http send more requests again, and both are too dangerous
// here. It repeats a request that is marked as idempotent (an Idempotency-Key, even one that
// is not sent) also if the server read it and hung up without an answer. And an error after a
// byte was written tells nothing about how far the server came. A tool must not be called
// twice, so such a request fails. If no byte was written and the error is another one, a
// reset for instance, net/http sends the request again by itself: it can get the body a
// second time.
func IsUnsent(err error) bool {
	return err != nil && err.Error() == "http: server closed idle connection"
}

// isUnconnected reports whether a request failed because no connection was made for it, or because the server's
// certificate was refused, before which nothing is sent.
func isUnconnected(err error) bool {
	return capability.IsDial(err) || errors.As(err, new(*tls.CertificateVerificationError))
}

// IsRedirect reports whether a response redirects to another URL.
func IsRedirect(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	}
	return false
}

// RedirectError says why a redirect was not followed. Its text is that of Err, which has the status
// for the guest.
type RedirectError struct {
	HTTP   int
	SignIn bool // it leads to a page where people sign in
	Err    error
}

func (e *RedirectError) Error() string { return e.Err.Error() }
func (e *RedirectError) Unwrap() error { return e.Err }

// NotActed reports whether the redirect says that the request is to be made elsewhere. After 302 and
// 303 the server may have acted on it, and only names the place of the result.
func (e *RedirectError) NotActed() bool {
	return e.HTTP != http.StatusFound && e.HTTP != http.StatusSeeOther
}

// Discard reads the usually small rest of a body, so that the connection can be reused, and closes
// the body.
func Discard(resp *http.Response) {
	io.CopyN(io.Discard, resp.Body, 4<<10)
	resp.Body.Close()
}

// errNotGzip says that a body cannot be decompressed.
var errNotGzip = errors.New("the answer is not the gzip that its Content-Encoding says, or it broke off")

// Explain adds to an error of an exchange what the user should check.
func Explain(err error) error {
	var unknown *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, new(*Refusal)): // a refusal needs no explanation
		return err
	case errors.As(err, &record):
		return fmt.Errorf("the server does not speak TLS; is its url http://…, or ws://…? (%w)", err)
	case errors.As(err, &unknown):
		return dial.ExplainCertificate(unknown)
	case errors.Is(err, errNotGzip):
		return err
	case strings.Contains(err.Error(), `malformed HTTP response "\x15\x03`): // the alert of TLS, for which net/http has no error
		return errors.New("the server speaks TLS; is its url https://…, or wss://…?")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the server broke off in the middle of its answer: %w", err)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the server closed the connection without an answer: %w", err)
	case errors.Is(err, net.ErrClosed) && capability.Operation(err) == "write": // net/http closed our side after the server closed the other
		return fmt.Errorf("the server closed the connection without an answer: %w", capability.Cause(err))
	}
	return dial.Explain(err)
}

// Refusal is the error of an exchange that could not be signed in. Either the server answered 401
// or 403, or the credentials had nothing to sign the request with and it was not sent. The guest
// only learns that it was denied.
type Refusal struct {
	HTTP       int      // 401 or 403; zero if nothing was sent
	Body       string   // the server's text, shortened, without control characters
	Challenges []string // its WWW-Authenticate fields, treated likewise
	AuthServer string   // its Mcp-Auth-Server field, treated likewise
	Signed     bool     // the credentials had signed the request
	Configured bool     // the request had an Authorization of the server's entry
	Reread     bool     // the headers of the entry were read anew, and are the same
	Keys       []string // headers of the entry that hold keys, if the server names no sign-in
	Err        error    // the error of the credentials; may be nil
}

func (e *Refusal) Error() string {
	if e.HTTP == 0 {
		return fmt.Sprintf("sign in: %v", e.Err)
	}
	var b strings.Builder
	switch { // before the header fields, which may be long
	case len(e.Keys) > 0 || e.Basic():
	case e.Err != nil:
		fmt.Fprintf(&b, "sign in: %v; it answered ", e.Err)
	case e.Signed || e.Configured:
		fmt.Fprintf(&b, "%s; it answered ", e.refused())
	}
	fmt.Fprintf(&b, "HTTP %d", e.HTTP)
	if len(e.Keys) > 0 {
		fmt.Fprintf(&b, " to a request with %s", strings.Join(e.Keys, ", "))
	}
	if said := e.Said(); said != "" {
		fmt.Fprintf(&b, ": %s", said)
	}
	for _, c := range e.Challenges {
		fmt.Fprintf(&b, "; WWW-Authenticate: %s", c)
	}
	if e.AuthServer != "" {
		fmt.Fprintf(&b, "; Mcp-Auth-Server: %s", e.AuthServer)
	}
	return b.String()
}

// refused says that the server did not accept what the request had.
func (e *Refusal) refused() string {
	sent := "credentials"
	if !e.Signed {
		sent = "Authorization"
	}
	if e.HTTP == http.StatusForbidden {
		return "the server denies this to the " + sent + " that it was sent"
	}
	return "the server does not take the " + sent + " that it was sent"
}

// Basic reports whether a server was sent no credentials and accepts only Basic (RFC 7617). No
// sign-in of a person gives the name and the password that Basic takes.
func (e *Refusal) Basic() bool {
	if e.Err == nil && (e.Signed || e.Configured) {
		return false // the server refused credentials, perhaps a name and a password
	}
	var failed interface{ NeedsLogin() bool }
	if errors.As(e.Err, &failed) && !failed.NeedsLogin() {
		return false // the provider's error says more
	}
	return len(e.Challenges) > 0 && !slices.ContainsFunc(e.Challenges, func(c string) bool {
		scheme, _, _ := strings.Cut(c, " ")
		return !strings.EqualFold(scheme, "Basic")
	})
}

// Said returns the server's text if it is for people. It is "" for an HTML page, which is for
// browsers, and for JSON that says nothing.
func (e *Refusal) Said() string {
	switch strings.Join(strings.Fields(e.Body), "") {
	case "{}", "[]", "null", `""`:
		return ""
	}
	if strings.HasPrefix(e.Body, "<") {
		return ""
	}
	return e.Body
}

// Scope returns the scope that the server wants (RFC 6750, section 3), or "" if it does not say.
func (e *Refusal) Scope() string {
	for _, c := range e.Challenges {
		if found := scopeOf.FindStringSubmatch(c); found != nil {
			return found[1] + found[2]
		}
	}
	return ""
}

var scopeOf = lazyregexp.New(`(?i)[\s,]scope\s*=\s*(?:"([^"\\]*)"|([^\s,"]+))`)

func (e *Refusal) Unwrap() error { return e.Err }

// Status returns the status for the guest.
func (*Refusal) Status() abi.Status { return abi.Denied }
