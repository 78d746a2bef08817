package connect

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/session"
)

// What a web server answers that is no MCP server is told in a sentence, with what to look
// at, and its pages are not quoted.
func TestFailed(t *testing.T) {
	answer := func(status abi.Status, http int, text string) error {
		return &guest.StatusError{Status: status, HTTP: http, Text: text}
	}
	nothing := func(http int) error {
		return &rpc.CallError{Method: "initialize", Sent: rpc.MaybeSent, Err: &rpc.NoResponseError{Exchange: 2, HTTP: http}}
	}
	const page = `: <!DOCTYPE html><html><head><title> Bad Gateway </title></head><body>nginx</body></html>`
	const express = `: <!DOCTYPE html> <html lang="en"> <head> <title>Error</title> </head> <body> <pre>Cannot POST /x/mcp</pre> </body> </html>`
	const other = "is its path /mcp? The page of the server says which it is"
	const post = "it takes no POST there, which every message to an MCP server is; "
	const below = "is what follows /mcp in its path right? The page of the server says which path it is"
	const proxy = "what stands before the server, such as a proxy, got no answer from it: is it running?"
	plain := errors.New("connection refused")
	for name, c := range map[string]struct {
		url        string
		errs       []error
		want, hint string
	}{
		"nothing":         {"http://h/", []error{answer(abi.Refused, 404, "HTTP 404: x"), answer(abi.ProtocolFailed, 404, "HTTP 404: y")}, "there is no MCP server at this address: HTTP 404: x", other},
		"JSON-RPC":        {"http://h/mcp/x", []error{&rpc.Error{Code: -32600, Message: "there is no server\nat this path", HTTP: 404}, answer(abi.Refused, 404, `HTTP 404: {"jsonrpc":"2.0"}`)}, "there is no MCP server at this address: HTTP 404: there is no server at this path", below},
		"JSON-RPC of 400": {"http://h/mcp/x", []error{&rpc.Error{Code: -32600, Message: "no", HTTP: 400}}, "MCP error -32600: no", ""},
		"JSON-RPC of 400, and no SSE": {"http://h/mcp", []error{
			fmt.Errorf("%w: %w", &rpc.Error{Code: -32600, Message: "no", HTTP: 400}, session.ErrOtherTransport), &laterTransportError{"sse", answer(abi.Refused, 405, "HTTP 405")},
		}, "the server refused initialize: MCP error -32600: no", ""},
		"JSON-RPC of 400, and a sign-in": {"http://h/mcp", []error{
			&rpc.Error{Code: -32600, Message: "no", HTTP: 400}, &laterTransportError{"sse", errors.New("sign in first")},
		}, "MCP error -32600: no; and over sse: sign in first", ""},
		"a long text":     {"http://h/", []error{answer(abi.Refused, 404, "HTTP 404: \x1b"+strings.Repeat("x", 1000))}, "there is no MCP server at this address: HTTP 404: " + strings.Repeat("x", 243) + "…", other},
		"a line shown":    {"http://h/", []error{answer(abi.Refused, 404, "HTTP 404"+express)}, "there is no MCP server at this address: HTTP 404, a page: Cannot POST /x/mcp", other},
		"a line cut":      {"http://h/", []error{answer(abi.Refused, 404, "HTTP 404"+express[:len(express)-30]+"…")}, "there is no MCP server at this address: HTTP 404, a page: Cannot POS…", other},
		"nothing at /mcp": {"http://h/mcp", []error{answer(abi.Refused, 404, "HTTP 404: x")}, "there is no MCP server at this address: HTTP 404: x", "does the server run at another path, such as /sse?"},
		"no POST":         {"http://h/", []error{answer(abi.Refused, 405, "HTTP 405"+page), answer(abi.Refused, 404, "HTTP 404")}, "there is no MCP server at this address: HTTP 404", post + other},
		"no POST at all":  {"http://h/", []error{answer(abi.Refused, 405, "HTTP 405"), answer(abi.Refused, 405, "HTTP 405")}, "there is no MCP server at this address: HTTP 405", post + other},
		"too many":        {"http://h/mcp", []error{answer(abi.Refused, 429, "HTTP 429: slow down")}, "HTTP 429: slow down", "it has had too many requests, from you or from your network: try again in a minute"},
		"no JSON":         {"http://h/", []error{answer(abi.Refused, 415, "HTTP 415"+page)}, "there is no MCP server at this address: HTTP 415, a page: Bad Gateway", other},
		"gives no JSON":   {"http://h/", []error{answer(abi.Refused, 406, "HTTP 406: no")}, "there is no MCP server at this address: HTTP 406: no", other},
		"files":           {"http://h/", []error{answer(abi.ProtocolFailed, 501, "HTTP 501"+page)}, "there is no MCP server at this address: HTTP 501, a page: Bad Gateway", other},
		"a page":          {"http://h/", []error{answer(abi.ProtocolFailed, 200, "HTTP 200: expected x, got text/html")}, "there is no MCP server at this address: HTTP 200: expected x, got text/html", other},
		"no message":      {"http://h/", []error{answer(abi.ProtocolFailed, 200, `expected one JSON-RPC message, got HTTP 200`+page)}, "there is no MCP server at this address: expected one JSON-RPC message, got HTTP 200, a page: Bad Gateway", other},
		"an empty answer": {"http://h/", []error{nothing(200)}, "there is no MCP server at this address: HTTP 200, and no answer in it", other},
		"no content":      {"http://h/mcp", []error{answer(abi.Refused, 404, "HTTP 404"), nothing(204)}, "there is no MCP server at this address: HTTP 204, and no answer in it", "does the server run at another path, such as /sse?"},
		"no HTTP":         {"http://h/", []error{nothing(0)}, "initialize: no response received for request ID 2", ""},
		"a proxy":         {"http://h/", []error{answer(abi.ProtocolFailed, 502, "HTTP 502"+page)}, "the server failed: HTTP 502, a page: Bad Gateway", proxy},
		"no title":        {"http://h/", []error{answer(abi.Refused, 503, "HTTP 503: <HTML>…")}, "the server failed: HTTP 503, a page", proxy},
		"a fault":         {"http://h/", []error{answer(abi.ProtocolFailed, 500, "HTTP 500: boom")}, "the server failed: HTTP 500: boom", "its own log says why"},
		"a refusal":       {"http://h/", []error{answer(abi.Refused, 400, "HTTP 400: no"), &laterTransportError{"sse", answer(abi.Refused, 404, "HTTP 404")}}, "the server refused initialize: HTTP 400: no", ""},
		"a refusal in words": {"http://h/", []error{
			fmt.Errorf("initialize: %w: %w", answer(abi.Refused, 400, `HTTP 400: {"error":"missing X-Api-Key"}`), session.ErrOtherTransport),
			&laterTransportError{"sse", answer(abi.Refused, 400, `HTTP 400: {"error":"missing X-Api-Key"}`)},
		}, `the server refused initialize: HTTP 400: {"error":"missing X-Api-Key"}`, "if it wants a key in a header, write headers in its entry"},
		"a refusal, and a sign-in": {"http://h/", []error{answer(abi.Refused, 400, "HTTP 400: no"), &laterTransportError{"sse", errors.New("sign in first")}}, "HTTP 400: no; and over sse: sign in first", ""},
		"no answer":                {"http://h/", []error{plain}, "connection refused", ""},
	} {
		err := unreachable(config.Server{URL: c.url}, c.errs)
		if err.Error() != c.want || hosterr.Hint(err) != c.hint {
			t.Errorf("%s: %v\nhint: %s", name, err, hosterr.Hint(err))
		}
		for _, each := range c.errs {
			if answer := (*rpc.Error)(nil); c.hint != "" && errors.As(each, &answer) {
				if errors.As(err, &answer) {
					t.Errorf("%s: counts as an error that an MCP server answered", name)
				}
			} else if !errors.Is(err, each) {
				t.Errorf("%s: does not wrap %v", name, each)
			}
		}
		if c.hint != "" && !errors.Is(err, hosterr.ErrUnreachable) {
			t.Errorf("%s: is not unreachable", name)
		}
	}
}

// What a GET for a stream has found says nothing of POST.
func TestNoStream(t *testing.T) {
	stream := func(http int) error {
		return fmt.Errorf("connect: %w", &guest.PluginError{Plugin: "sse", Op: "connect", Err: &guest.StatusError{Status: abi.Refused, HTTP: http, Text: fmt.Sprintf("HTTP %d", http)}})
	}
	post := func(http int) error {
		return &rpc.CallError{Method: "initialize", Err: &guest.StatusError{Status: abi.Refused, HTTP: http, Text: fmt.Sprintf("HTTP %d", http)}}
	}
	const alone = "HTTP+SSE alone is tried, since the entry says %s: leave that out to try Streamable HTTP first"
	const path = "does the server run at another path, such as /sse?"
	for name, c := range map[string]struct {
		entry      config.Server
		errs       []error
		want, hint string
	}{
		"no GET":       {config.Server{Transport: "sse"}, []error{stream(405)}, "there is no stream of HTTP+SSE at this address: HTTP 405", fmt.Sprintf(alone, "sse")},
		"no session":   {config.Server{Strategy: "sse-only"}, []error{stream(400)}, "there is no stream of HTTP+SSE at this address: HTTP 400", fmt.Sprintf(alone, "sse-only")},
		"nothing":      {config.Server{Transport: "sse"}, []error{stream(404)}, "there is no stream of HTTP+SSE at this address: HTTP 404", path + " " + fmt.Sprintf(alone, "sse")},
		"failed":       {config.Server{Transport: "sse"}, []error{stream(502)}, "the server failed: HTTP 502", "what stands before the server, such as a proxy, got no answer from it: is it running?"},
		"a stream":     {config.Server{Transport: "sse"}, []error{post(404)}, "there is no MCP server at this address: HTTP 404", path},
		"sse first":    {config.Server{Strategy: "sse-first"}, []error{stream(405), &laterTransportError{"http", post(404)}}, "there is no MCP server at this address: HTTP 404", path},
		"no JSON then": {config.Server{Strategy: "sse-first"}, []error{stream(406), &laterTransportError{"http", post(406)}}, "there is no MCP server at this address: HTTP 406", path},
		"no POST then": {config.Server{Strategy: "sse-first"}, []error{stream(404), &laterTransportError{"http", post(405)}}, "there is no MCP server at this address: HTTP 405", "it takes no POST there, which every message to an MCP server is; " + path},
	} {
		c.entry.URL = "http://h/mcp"
		if err := unreachable(c.entry, c.errs); err.Error() != c.want || hosterr.Hint(err) != c.hint {
			t.Errorf("%s: %v\nhint: %s", name, err, hosterr.Hint(err))
		}
	}
}
