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
	idle    time.Duration // how long a client that sends nothing is kept
	rates   rates

	mu       sync.Mutex              // guards what is below, and the clients that are kept
	usage    map[string]usage        // by principal
	sessions map[string]*httpSession // by id
	moderns  map[modernKey]*httpModern
}

// Handler returns a handler that serves clients over HTTP. At /mcp they reach all servers as one, and at
// /mcp/NAME the server of that name, without changed names. Config.Principal identifies the clients. The
// sessions of the handler end with the gateway.
//
// GET /health and /ready need no principal, and say no more than their status: 200 as long as the program
// runs, and for /ready 503 as soon as the gateway takes no more clients. /metrics is Config.Metrics.
//
// The Host of a request must be a name of this machine or one of Config.Hosts. So must its Origin, if
// it has one. Otherwise any web page could reach the servers by giving its own name the address of
// this machine.
func (g *Gateway) Handler() http.Handler {
	return &handler{
		gateway: g, idle: idleTime, rates: rates{perMinute: g.config.CallsPerMinute}, usage: make(map[string]usage),
		sessions: make(map[string]*httpSession), moderns: make(map[modernKey]*httpModern),
	}
}

// httpExchange is one HTTP request, and its response.
type httpExchange struct {
	w          http.ResponseWriter
	r          *http.Request
	principal  string
	serverName string     // the server that is reached bare; "" for all servers as one
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
	if h.probe(w, r) {
		return
	}
	if h.gateway.config.WellKnown != nil && strings.HasPrefix(r.URL.Path, "/.well-known/") {
		h.gateway.config.WellKnown.ServeHTTP(w, r)
		return
	}
	if who := h.gateway.config.Principal; who != nil {
		var err error
		if x.principal, err = who(r); err != nil {
			x.unknown(err)
			return
		}
	}
	if wait := h.rates.take(x.principal, 1); wait > 0 {
		x.tooMany(wait)
		return
	}
	if r.URL.Path == "/metrics" && r.Method == http.MethodGet && h.gateway.config.Metrics != nil && x.principal == "" {
		h.gateway.config.Metrics.ServeHTTP(w, r)
		return
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

// Refusal is an error of [Config.Principal] that says how a request is refused.
type Refusal struct {
	Status    int    // of the response
	Challenge string // its header WWW-Authenticate; "" is none
	Why       string // for the person at the client
}

func (r *Refusal) Error() string { return r.Why }

// unknown refuses a request whose principal is not known.
func (x *httpExchange) unknown(err error) {
	r := &Refusal{Status: http.StatusUnauthorized, Challenge: "Bearer", Why: err.Error()}
	errors.As(err, &r)
	if r.Challenge != "" {
		x.w.Header().Set("WWW-Authenticate", r.Challenge)
	}
	x.refuse(r.Status, r.Why)
}

// probe answers a supervisor that asks how the program is, and reports whether that was the request.
func (h *handler) probe(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return false
	case r.URL.Path == "/health":
		w.WriteHeader(http.StatusOK)
	case r.URL.Path == "/ready" && !h.gateway.takesClients():
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.URL.Path == "/ready":
		w.WriteHeader(http.StatusOK)
	default:
		return false
	}
	return true
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

// isOwnOrigin reports whether a page may reach the handler. values are the Origin headers of the
// request; programs send none.
func (g *Gateway) isOwnOrigin(values []string) bool {
	if len(values) == 0 {
		return true
	}
	u, err := url.Parse(values[0])
	return len(values) == 1 && err == nil && (u.Scheme == "http" || u.Scheme == "https") && g.isOwnHost(u.Host)
}

// post answers a POST, which has a message or a batch of a client. modern says that its headers name
// a modern revision.
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
		size = maxBody // the length is not given
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

// readBody returns the body of a request. It is an error if the body is longer than maxBody, or does
// not come in time.
func readBody(x *httpExchange) ([]byte, error) {
	control := http.NewResponseController(x.w)
	control.SetReadDeadline(time.Now().Add(bodyTime)) // fails if the server has no deadlines, which does no harm
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

// refuse answers a request with a JSON-RPC error without an id. No client of the gateway has seen
// the request.
func (x *httpExchange) refuse(status int, why string) {
	x.answer(status, rpc.AppendReply(nil, nil, nil, &rpc.Error{Code: mcp.CodeInvalidRequest, Message: why}))
}

// busy refuses a request, and tells its sender that it may try again later.
func (x *httpExchange) busy(why string) {
	x.w.Header().Set("Retry-After", "1")
	x.refuse(http.StatusServiceUnavailable, why)
}

// answer writes a response of one message.
func (x *httpExchange) answer(status int, message []byte) {
	newClientWriter(x.w).writeMessage(status, message)
}
