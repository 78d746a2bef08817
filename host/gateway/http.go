package gateway

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Streamable HTTP, for clients of both eras at one URL (2025-11-25/basic/transports#streamable-http and
// 2026-07-28/basic/transports/streamable-http). A legacy client has a session, see httpsession.go; each
// request of a modern one stands by itself, see httpmodern.go.

const (
	headerVersion     = "Mcp-Protocol-Version"
	headerSessionID   = "Mcp-Session-Id"
	headerLastEventID = "Last-Event-Id"

	mediaJSON   = "application/json"
	mediaEvents = "text/event-stream"

	maxBody  = 16 << 20 // bytes of a message of a client
	bodyTime = time.Minute
)

// handler serves clients over HTTP.
type handler struct {
	gateway *Gateway
	idle    time.Duration // after which a client that sends nothing is forgotten

	mu       sync.Mutex              // guards what is below, and the clients that are kept
	usage    map[string]usage        // by principal
	sessions map[string]*httpSession // by id
	moderns  map[modernKey]*httpModern
}

// Handler returns a handler that serves clients over HTTP. At /mcp they reach all servers as one, and at
// /mcp/NAME the server of that name, as if they were connected to it. Config.Principal says who the
// clients are. The sessions of the handler end with the gateway.
//
// The Host of a request has to be a name of this machine or one of Config.Hosts, and so has its Origin
// if there is one. Otherwise any web page could reach the servers by a name of its own.
func (g *Gateway) Handler() http.Handler {
	return &handler{
		gateway: g, idle: idleTime, usage: make(map[string]usage),
		sessions: make(map[string]*httpSession), moderns: make(map[modernKey]*httpModern),
	}
}

// httpExchange is one HTTP request, and its response.
type httpExchange struct {
	w          http.ResponseWriter
	r          *http.Request
	principal  string
	serverName string     // the name of the server that is reached bare; "" is all of them as one
	admission  *admission // of a POST
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &httpExchange{w: w, r: r}
	if !h.gateway.isOwnHost(r.Host) {
		x.refuse(http.StatusForbidden, "Host is not a name of this server")
		return
	}
	if !h.gateway.isOwnOrigin(r.Header["Origin"]) {
		x.refuse(http.StatusForbidden, "Origin is not a page of this server")
		return
	}
	if who := h.gateway.config.Principal; who != nil {
		var err error
		if x.principal, err = who(r); err != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			x.refuse(http.StatusUnauthorized, err.Error())
			return
		}
	}
	found := r.URL.Path == "/mcp"
	if name, bare := strings.CutPrefix(r.URL.Path, "/mcp/"); bare {
		x.serverName = name
		_, found = h.gateway.server(x.serverName)
	}
	if !found {
		x.refuse(http.StatusNotFound, "there is no server at this path")
		return
	}
	modern := mcp.EraOf(r.Header.Get(headerVersion)) == mcp.Modern
	switch {
	case r.Method == http.MethodPost:
		h.post(x, modern)
	case r.Method == http.MethodGet && !modern:
		h.listen(x)
	case r.Method == http.MethodDelete && !modern:
		h.delete(x)
	default:
		w.Header().Set("Allow", "POST")
		x.refuse(http.StatusMethodNotAllowed, "a client of this revision sends POST")
	}
}

// isOwnHost reports whether a host, with or without a port, is a name by which clients reach the
// handler.
func (g *Gateway) isOwnHost(host string) bool {
	u, err := url.Parse("//" + host)
	if err != nil || u.Host != host {
		return false
	}
	name := strings.ToLower(u.Hostname())
	return slices.Contains(ownHosts, name) || slices.ContainsFunc(g.config.Hosts, func(own string) bool { return strings.EqualFold(own, name) })
}

var ownHosts = []string{"localhost", "127.0.0.1", "::1"}

// isOwnOrigin reports whether a page with such a header may reach the handler. Programs send none.
func (g *Gateway) isOwnOrigin(values []string) bool {
	if len(values) == 0 {
		return true
	}
	u, err := url.Parse(values[0])
	return len(values) == 1 && err == nil && (u.Scheme == "http" || u.Scheme == "https") && g.isOwnHost(u.Host)
}

// post takes a message of a client.
func (h *handler) post(x *httpExchange, modern bool) {
	if media, _, err := mime.ParseMediaType(x.r.Header.Get("Content-Type")); err != nil || media != mediaJSON {
		x.refuse(http.StatusUnsupportedMediaType, "Content-Type is not "+mediaJSON)
		return
	}
	if !accepts(x.r, mediaJSON) || !accepts(x.r, mediaEvents) {
		x.refuse(http.StatusNotAcceptable, "Accept does not list "+mediaJSON+" and "+mediaEvents)
		return
	}
	size := min(x.r.ContentLength, maxBody)
	if size < 0 {
		size = maxBody // it is not said
	}
	if x.admission = h.admit(x.principal, size); x.admission == nil {
		x.busy("too many requests of this client are being answered")
		return
	}
	defer x.admission.release()
	body, err := readBody(x)
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig):
		x.refuse(http.StatusRequestEntityTooLarge, "the message is larger than 16 MiB")
		return
	case err != nil:
		return // the client has gone
	}
	if id := x.r.Header.Get(headerSessionID); id != "" && !modern {
		if s := h.session(x, id); s != nil {
			defer h.releaseClient(&s.keptClient)
			s.post(x, body)
		}
		return
	}
	in, err := rpc.ReadIncoming(body)
	switch {
	case err != nil:
		x.answer(http.StatusBadRequest, rpc.AppendRefusal(nil, body, err))
	case modern || in.Method != mcp.MethodInitialize && meta(in.Params, mcp.MetaProtocolVersion) != nil:
		h.postModern(x, in)
	case in.Method == mcp.MethodInitialize && in.ID() != nil:
		h.initialize(x, body)
	default:
		x.refuse(http.StatusBadRequest, "there is no "+headerSessionID+": send initialize first, or "+headerVersion+" "+mcp.LatestModern)
	}
}

// accepts reports whether a client takes responses of a media type.
func accepts(r *http.Request, media string) bool {
	values := r.Header["Accept"]
	if len(values) == 0 {
		return true
	}
	kind, _, _ := strings.Cut(media, "/")
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			one, _, _ = strings.Cut(one, ";")
			switch strings.ToLower(strings.TrimSpace(one)) {
			case media, kind + "/*", "*/*":
				return true
			}
		}
	}
	return false
}

// readBody returns the body of a request, which is at most maxBody long.
func readBody(x *httpExchange) ([]byte, error) {
	control := http.NewResponseController(x.w)
	control.SetReadDeadline(time.Now().Add(bodyTime)) // where the server has such
	defer control.SetReadDeadline(time.Time{})
	limited := http.MaxBytesReader(x.w, x.r.Body, maxBody)
	size := x.r.ContentLength
	if size < 0 || size > maxBody {
		return io.ReadAll(limited)
	}
	body := make([]byte, size)
	_, err := io.ReadFull(limited, body)
	return body, err
}

// refuse answers a request that no client gets to see, with a JSON-RPC error that has no id.
func (x *httpExchange) refuse(status int, why string) {
	x.answer(status, rpc.AppendReply(nil, nil, nil, &rpc.Error{Code: mcp.CodeInvalidRequest, Message: why}))
}

// busy refuses a request that may be sent again later.
func (x *httpExchange) busy(why string) {
	x.w.Header().Set("Retry-After", "1")
	x.refuse(http.StatusServiceUnavailable, why)
}

// answer writes a response of one message.
func (x *httpExchange) answer(status int, message []byte) {
	newClientWriter(x.w).writeMessage(status, message)
}
