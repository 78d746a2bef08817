package connect

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
)

// unreachable returns why a server was not connected over any of its transports. errs has an error
// for each of these, in their order.
func unreachable(entry config.Server, errs []error) error {
	last := answerOf(errs[len(errs)-1])
	switch {
	case !slices.ContainsFunc(errs, func(err error) bool { return !isNotMCP(err) }):
		hint := "does the server run at another path, such as /sse?"
		if u, err := url.Parse(entry.URL); err == nil && !strings.HasSuffix(u.Path, "/mcp") {
			hint = "is its path /mcp? The page of the server says which it is"
		}
		return quiet("there is no MCP server at this address: "+foundInstead(errs), hint, errs)
	case last != nil && last.HTTP >= 502 && last.HTTP <= 504:
		return quiet("the server failed: "+withoutPage(last.Text), "what stands before the server, such as a proxy, got no answer from it: is it running?", errs)
	case last != nil && last.HTTP >= 500:
		return quiet("the server failed: "+withoutPage(last.Text), "its own log says why", errs)
	case len(errs) == 1:
		return errs[0]
	}
	return fmt.Errorf("%w; and %w", errs[0], errs[1])
}

// isNotMCP reports whether err comes from a web server that is no MCP server at this address:
// there is no such page, or the page takes no POST, or what answers is no message or nothing.
func isNotMCP(err error) bool {
	if nothing := (*rpc.NoResponseError)(nil); errors.As(err, &nothing) {
		return nothing.HTTP != 0
	}
	said := answerOf(err)
	switch {
	case said == nil:
		return false
	case said.HTTP >= 200 && said.HTTP < 300:
		return said.Status == abi.ProtocolFailed
	}
	return said.HTTP == 404 || said.HTTP == 405 || said.HTTP == 501
}

// foundInstead says what errors of [isNotMCP] found in place of an MCP server. The words behind a
// status are those of the first transport that got it: it posts, as a person expects.
func foundInstead(errs []error) string {
	err := errs[len(errs)-1]
	if nothing := (*rpc.NoResponseError)(nil); errors.As(err, &nothing) {
		return fmt.Sprintf("HTTP %d, and no answer in it", nothing.HTTP)
	}
	said := answerOf(err)
	if said.HTTP < 300 {
		return withoutPage(said.Text)
	}
	status := fmt.Sprintf("HTTP %d", said.HTTP)
	for _, err := range errs {
		if first := answerOf(err); first != nil && first.HTTP == said.HTTP && strings.HasPrefix(first.Text, status+": ") {
			return cleantext.Line(withoutPage(first.Text), mostQuoted)
		}
	}
	return status
}

// mostQuoted is how much is quoted of what a server says where no MCP server is, in bytes.
const mostQuoted = 256

// overError is the error of a transport other than the first.
type overError struct {
	via string
	err error
}

func (e *overError) Error() string { return "over " + e.via + ": " + e.err.Error() }
func (e *overError) Unwrap() error { return e.err }

// answerOf returns the HTTP response that a plugin reported in err, or nil if it reported none.
func answerOf(err error) *guest.StatusError {
	var said *guest.StatusError
	if !errors.As(err, &said) || said.HTTP == 0 {
		return nil
	}
	return said
}

// withoutPage returns the quoted words of a server, with a web page replaced by its title, or
// by the line of an error that it shows as it is.
func withoutPage(text string) string {
	lower := strings.ToLower(text)
	at := strings.Index(lower, "<!doctype html")
	if at < 0 {
		at = strings.Index(lower, "<html")
	}
	if at < 0 || len(lower) != len(text) {
		return text
	}
	before := strings.TrimSuffix(text[:at], ": ")
	for _, tag := range []string{"<pre>", "<title>"} {
		if from := strings.Index(lower, tag); from > at {
			words, _, _ := strings.Cut(text[from+len(tag):], "<")
			return before + ", a page: " + strings.TrimSpace(words)
		}
	}
	return before + ", a page"
}

// quiet returns an ErrUnreachable that has a text of its own and does not quote errs.
func quiet(text, hint string, errs []error) error {
	return &hosterr.Error{Kind: hosterr.ErrUnreachable, Err: &quietError{text, errs}, Hint: hint}
}

// quietError has a text of its own. errors.Is and errors.As find the errors behind it.
type quietError struct {
	text string
	errs []error
}

func (e *quietError) Error() string   { return e.text }
func (e *quietError) Unwrap() []error { return e.errs }
