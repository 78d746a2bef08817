package connect

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
)

// unreachable returns the error for a server that could not be connected over any of its
// transports. errs has the error of each transport, in their order.
func unreachable(entry config.Server, errs []error) error {
	first, last := answerOf(errs[0]), answerOf(errs[len(errs)-1])
	var fault *rpc.Error
	var redirect *httpclient.RedirectError
	switch {
	case len(errs) == 1 && isNoStream(errs[0]):
		hint := "HTTP+SSE alone is tried, since the entry says " + cmp.Or(entry.Transport, entry.Strategy) + ": leave that out to try Streamable HTTP first"
		if first.HTTP == 404 {
			hint = otherPath(entry) + " " + hint
		}
		return unreachableWith("there is no stream of HTTP+SSE at this address: "+describeAnswer(errs), hint, errs)
	case !slices.ContainsFunc(errs, func(err error) bool { return !isNotMCP(err) }):
		hint := otherPath(entry)
		if slices.ContainsFunc(errs, func(err error) bool { return statusOf(err) == 405 && !isNoStream(err) }) {
			hint = "it takes no POST there, which every message to an MCP server is; " + hint
		}
		text := "there is no MCP server at this address: " + describeAnswer(errs)
		// An error in JSON-RPC is not that of an MCP server here, and no caller should take it for one.
		return unreachableWith(text, hint, slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return errors.As(err, new(*rpc.Error)) }))
	case len(errs) > 1 && last != nil && errors.As(errs[0], &fault) && fault.HTTP >= 400: // its words say more than that it has no SSE
		return &textError{"the server refused initialize: " + fault.Error(), errs}
	case len(errs) > 1 && first != nil && first.HTTP == 400 && last != nil && (last.Text == first.Text || isNotMCP(errs[1])): // it says why, and has no SSE
		hint := ""
		said := strings.ToLower(first.Text)
		if slices.ContainsFunc([]string{"key", "token", "auth", "header", "credential"}, func(word string) bool { return strings.Contains(said, word) }) {
			hint = "if it wants a key in a header, write headers in its entry"
		}
		return unreachableWith("the server refused initialize: "+withoutPage(first.Text), hint, errs)
	case last != nil && last.HTTP >= 500 && last.Wait > 0: // it says itself what to do
		return unreachableWith("the server failed: "+withoutPage(last.Text)+hostio.AskedWait(last.Wait), "", errs)
	case last != nil && last.HTTP >= 502 && last.HTTP <= 504:
		return unreachableWith("the server failed: "+withoutPage(last.Text), "what stands before the server, such as a proxy, got no answer from it: is it running?", errs)
	case last != nil && last.HTTP >= 500:
		return unreachableWith("the server failed: "+withoutPage(last.Text), "its own log says why", errs)
	case len(errs) == 1 && last != nil && last.HTTP == 429:
		return &hosterr.Error{Kind: hosterr.ErrUnreachable, Err: errs[0], Hint: "it has had too many requests, from you or from your network: try again " + later(last.Wait)}
	case len(errs) == 1 && errors.As(errs[0], &redirect) && redirect.SignIn:
		return &hosterr.Error{Kind: hosterr.ErrUnreachable, Err: errs[0], Hint: "that page is for a browser: if you have a token or a key for the server, write auth or headers in its entry; if it needs none, its url is another"}
	case len(errs) == 1:
		return errs[0]
	}
	return fmt.Errorf("%w; and %w", errs[0], errs[1])
}

// otherPath asks whether the path of an entry's url is the right one.
func otherPath(entry config.Server) string {
	u, err := url.Parse(entry.URL)
	switch {
	case err == nil && strings.Contains(u.Path, "/mcp/"):
		return "is what follows /mcp in its path right? The page of the server says which path it is"
	case err == nil && !strings.HasSuffix(u.Path, "/mcp"):
		return "is its path /mcp? The page of the server says which it is"
	}
	return "does the server run at another path, such as /sse?"
}

// later says when to try again a server that may ask for a wait.
func later(wait time.Duration) string {
	if wait <= 0 {
		return "in a minute"
	}
	return "when that time is over"
}

// statusOf returns the HTTP status of an answer that was no message, or an error in JSON-RPC; 0 if err has none.
func statusOf(err error) int {
	if fault := (*rpc.Error)(nil); errors.As(err, &fault) {
		return fault.HTTP
	}
	if said := answerOf(err); said != nil {
		return said.HTTP
	}
	return 0
}

// isNotMCP reports whether err comes from a web server without an MCP server at this address: the
// page does not exist, takes no POST or no JSON, gives none, or answers with something other than a message.
func isNotMCP(err error) bool {
	if nothing := (*rpc.NoResponseError)(nil); errors.As(err, &nothing) {
		return nothing.HTTP != 0
	}
	if fault := (*rpc.Error)(nil); errors.As(err, &fault) { // some programs answer every POST in JSON-RPC
		return fault.HTTP == 404 || fault.HTTP == 405
	}
	said := answerOf(err)
	switch {
	case said == nil:
		return false
	case said.HTTP >= 200 && said.HTTP < 300:
		return said.Status == abi.ProtocolFailed
	}
	return slices.Contains([]int{404, 405, 406, 415, 501}, said.HTTP)
}

// isNoStream reports whether err says that a GET has found no stream of HTTP+SSE. A server that speaks
// Streamable HTTP may refuse that GET, and take a POST.
func isNoStream(err error) bool {
	var plugin *guest.PluginError
	said := answerOf(err)
	return said != nil && errors.As(err, &plugin) && plugin.Plugin == transportSSE && plugin.Op == "connect" && (isNotMCP(err) || said.HTTP == 400)
}

// describeAnswer says what was found in place of an MCP server, from errors of [isNotMCP]. If that is
// an HTTP status, the text comes from the first transport that got one: it sent a POST, as a person
// expects.
func describeAnswer(errs []error) string {
	if fault := (*rpc.Error)(nil); errors.As(errs[0], &fault) {
		return cleantext.Line(fmt.Sprintf("HTTP %d: %s", fault.HTTP, fault.Message), mostQuoted)
	}
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

// mostQuoted is how many bytes of the answer are quoted if there is no MCP server.
const mostQuoted = 256

// laterTransportError is the error of a transport other than the first.
type laterTransportError struct {
	via string
	err error
}

func (e *laterTransportError) Error() string { return "over " + e.via + ": " + e.err.Error() }
func (e *laterTransportError) Unwrap() error { return e.err }

// answerOf returns the HTTP response that a plugin reported in err, or nil.
func answerOf(err error) *guest.StatusError {
	var said *guest.StatusError
	if !errors.As(err, &said) || said.HTTP == 0 {
		return nil
	}
	return said
}

// withoutPage returns the quoted text of a server. It replaces a web page by its title, or by the
// error line that the page shows.
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

// unreachableWith returns an ErrUnreachable with a text of its own, which does not quote errs.
func unreachableWith(text, hint string, errs []error) error {
	return &hosterr.Error{Kind: hosterr.ErrUnreachable, Err: &textError{text, errs}, Hint: hint}
}

// textError has a text of its own. errors.Is and errors.As find the errors that caused it.
type textError struct {
	text string
	errs []error
}

func (e *textError) Error() string   { return e.text }
func (e *textError) Unwrap() []error { return e.errs }
