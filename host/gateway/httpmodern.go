package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/ctxcond"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// modernKey identifies a modern client. All requests of one principal, at one path and with the same
// capabilities, are one client: a legacy server learns the capabilities once, and nothing else tells
// the requests of two programs apart.
type modernKey struct {
	principal, serverName string
	capabilities          [sha256.Size]byte // a hash of them
}

// maxCanonical is the most bytes of capabilities that hashCapabilities sorts.
const maxCanonical = 64 << 10

// hashCapabilities returns a hash of capabilities. The order of members and white space do not change
// it, unless the text has more than maxCanonical bytes.
func hashCapabilities(capabilities []byte) [sha256.Size]byte {
	var all any
	d := json.NewDecoder(bytes.NewReader(capabilities))
	d.UseNumber()
	if len(capabilities) <= maxCanonical && d.Decode(&all) == nil {
		if sorted, err := json.Marshal(all); err == nil {
			capabilities = sorted
		}
	}
	return sha256.Sum256(capabilities)
}

// httpModern is a modern client over HTTP.
type httpModern struct {
	keptClient
	client   client
	presence *presence
	ctx      context.Context // ends with the client
	cancel   context.CancelFunc

	requests    context.Context // the parent of the contexts of its requests; ends before ctx
	endRequests context.CancelCauseFunc

	mu        sync.Mutex
	responses []*outbox    // those of its requests, without those that listen
	listening int          // how many requests listen
	changed   ctxcond.Cond // listening or responses has changed
}

// close ends the client. It first ends the subscriptions and the requests, so that each can send its last
// message, and then the rest.
func (c *httpModern) close() {
	c.client.inputEnded()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	c.mu.Lock()
	for c.listening > 0 && c.changed.Await(ctx, &c.mu) == nil {
	}
	c.endRequests(ErrClosed)
	for len(c.responses) > 0 && c.changed.Await(ctx, &c.mu) == nil {
	}
	c.mu.Unlock()
	c.cancel()
	c.client.leave()
	c.presence.leave()
}

// postModern answers a request of a modern client, or takes a notification. A client that leaves
// before the answer cancels its request.
func (h *handler) postModern(x *httpExchange, in *rpc.Incoming) {
	if in.ID() == nil { // no revision has a notification that the gateway could use here
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	fault := checkHeaders(x.r.Header, in)
	var m modernMeta
	if fault == nil {
		m, fault = readMeta(in.Params)
	}
	if fault != nil {
		x.answer(http.StatusBadRequest, rpc.AppendReply(nil, in.ID(), nil, fault))
		return
	}
	c, why := h.modern(x, m.info, hashCapabilities(m.capabilities))
	if c == nil {
		x.busy(why)
		return
	}
	defer h.releaseClient(&c.keptClient)
	box := newOutbox(false)
	listens := in.Method == mcp.MethodListen
	c.addResponse(box, listens)
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(x.r.Context()))
	defer cancel(nil)
	defer context.AfterFunc(c.requests, func() { cancel(ErrClosed) })()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		result, err := h.gateway.serve(ctx, x.serverName, c.client, &request{
			id: in.ID(), method: in.Method, params: in.Params, channel: box, from: c.presence, peer: x.r.RemoteAddr,
			retain: func() (release func()) { return h.retainClient(&c.keptClient) },
			header: func(name string) (string, bool) {
				values := x.r.Header.Values(name)
				if len(values) == 0 {
					return "", false
				}
				text, _ := headerText(values[0]) // checkHeaders has refused the other values
				return text, true
			},
		})
		box.put(true, reply(in.ID(), result, err))
		c.removeResponse(box, listens)
	}()
	if box.serve(x.r.Context(), x.w) != nil {
		cancel(errLeft)
	}
	<-answered
}

// reply returns the answer to a modern request: a result, or the error and its HTTP status.
func reply(id, result json.RawMessage, err error) event {
	if err == nil {
		return event{text: rpc.AppendReply(nil, id, rpc.Raw(result), nil)}
	}
	fault := internalError(errLeft)
	errors.As(err, &fault)
	return event{text: rpc.AppendReply(nil, id, nil, fault), status: statusOf(fault)}
}

// statusOf returns the HTTP status for an error that answers a modern request
// (2026-07-28/basic/index#error-codes). For a code without a status of its own, it is 400 if the
// error came with that status, and 200 otherwise.
func statusOf(fault *rpc.Error) int {
	switch fault.Code {
	case mcp.CodeMethodNotFound:
		return http.StatusNotFound
	case mcp.CodeHeaderMismatch, mcp.CodeMissingClientCapability, mcp.CodeUnsupportedVersion:
		return http.StatusBadRequest
	}
	if fault.HTTP == http.StatusBadRequest {
		return fault.HTTP
	}
	return http.StatusOK
}

// modern returns the modern client with these capabilities that a request is of, and counts one more request
// that uses it. info is what the sender says of itself. The caller calls releaseClient. If there can be no
// client, modern returns nil and why.
func (h *handler) modern(x *httpExchange, info json.RawMessage, capabilities [sha256.Size]byte) (c *httpModern, why string) {
	key := modernKey{x.principal, x.serverName, capabilities}
	h.mu.Lock()
	for h.moderns[key] == nil { // another request may make the client while mu is free
		idle, full := h.leastRecentlyUsed(key)
		if !full {
			break
		}
		h.mu.Unlock()
		if idle == nil {
			return nil, fmt.Sprintf("requests of %d clients with other capabilities are being answered, which is the most", maxModernsOf)
		}
		h.evictIfIdle(&idle.keptClient)
		h.mu.Lock()
	}
	defer h.mu.Unlock()
	if c := h.moderns[key]; c != nil {
		h.useClient(&c.keptClient)
		return c, ""
	}
	if why := h.full(key.principal); why != "" {
		return nil, why
	}
	c = &httpModern{}
	c.removeFromMaps = func() { delete(h.moderns, key) }
	if err := h.addClient(&c.keptClient); err != nil {
		return nil, err.Error()
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(h.gateway.ctx))
	c.requests, c.endRequests = context.WithCancelCause(c.ctx)
	h.gateway.counts.addClient(mcp.Modern)
	o := origin{principal: httpPrincipal(key.principal), kind: policy.Gateway, kept: &c.keptClient}
	c.client = h.gateway.newClient(c.ctx, mcp.Modern, c, o, key.serverName)
	o.peer = x.r.RemoteAddr // of its first request; others may come from elsewhere
	c.presence = h.gateway.arrive(c.client, &o, mcp.Modern, info, key.serverName)
	stop := context.AfterFunc(h.gateway.ctx, func() { h.evict(&c.keptClient) })
	c.closeClient = func() {
		stop()
		c.close()
	}
	h.moderns[key] = c
	return c, ""
}

// leastRecentlyUsed reports whether a principal has as many clients at a path as it may. idle is the
// client among them that has been idle for the longest time, or nil if all are in use. The caller holds
// mu.
func (h *handler) leastRecentlyUsed(key modernKey) (idle *httpModern, full bool) {
	n := 0
	for other, c := range h.moderns {
		if other.principal != key.principal || other.serverName != key.serverName {
			continue
		}
		n++
		if c.users == 0 && (idle == nil || c.idleSince.Before(idle.idleSince)) {
			idle = c
		}
	}
	return idle, n >= maxModernsOf
}

func (c *httpModern) addResponse(box *outbox, listens bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if listens {
		c.listening++
	} else {
		c.responses = append(c.responses, box)
	}
}

func (c *httpModern) removeResponse(box *outbox, listens bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if listens {
		c.listening--
	} else {
		c.responses = slices.DeleteFunc(c.responses, func(other *outbox) bool { return other == box })
	}
	c.changed.Broadcast()
}

// ask returns an error: a modern client can be asked only in the results of its requests.
func (c *httpModern) ask(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, internalError(errNoCall)
}

// notify sends a notification that names no request on the response to the only request that is
// under way. If there are several, notify drops it, because they may come from different
// programs.
func (c *httpModern) notify(ctx context.Context, method string, params json.RawMessage) error {
	c.mu.Lock()
	var box *outbox
	if len(c.responses) == 1 {
		box = c.responses[0]
	}
	c.mu.Unlock()
	if box == nil {
		return nil
	}
	return box.notify(ctx, method, params)
}

// ask returns an error: a modern client is asked in the result of a call.
func (o *outbox) ask(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return nil, internalError(errNoCall)
}

// notify sends a notification on the response of the outbox.
func (o *outbox) notify(ctx context.Context, method string, params json.RawMessage) error {
	text, err := rpc.AppendNotification(nil, method, appender(params))
	if err != nil {
		return err
	}
	o.put(false, event{text: text})
	return o.awaitRoom(ctx)
}

// checkHeaders returns an error if a header of a modern request differs from the part of
// the message that it repeats
// (2026-07-28/basic/transports/streamable-http#server-validation).
func checkHeaders(h http.Header, in *rpc.Incoming) *rpc.Error {
	type mirror struct{ header, value string }
	mirrors := []mirror{{"Mcp-Method", in.Method}}
	if version := text(in.Params, "_meta", mcp.MetaProtocolVersion); version != "" {
		mirrors = append(mirrors, mirror{"MCP-Protocol-Version", version})
	}
	switch in.Method {
	case mcp.MethodCallTool, mcp.MethodGetPrompt:
		mirrors = append(mirrors, mirror{"Mcp-Name", text(in.Params, "name")})
	case mcp.MethodReadResource:
		mirrors = append(mirrors, mirror{"Mcp-Name", text(in.Params, "uri")})
	}
	for _, m := range mirrors {
		values := h.Values(m.header)
		switch {
		case len(values) == 0:
			return mismatch("the header %s is missing", m.header)
		case len(values) > 1:
			return mismatch("the header %s is there twice", m.header)
		}
		value, ok := values[0], true
		if m.header == "Mcp-Name" {
			value, ok = headerText(value)
		}
		if !ok {
			return mismatch("the header %s is not what a header may have", m.header)
		}
		if value != m.value {
			return mismatch("the header %s is %q, and the message has %q", m.header, value, m.value)
		}
	}
	for name, values := range h {
		if !strings.HasPrefix(name, "Mcp-Param-") {
			continue
		}
		if _, ok := headerText(values[0]); !ok || len(values) > 1 {
			return mismatch("the header %s is there twice, or not what a header may have", name)
		}
	}
	return nil
}

func mismatch(format string, args ...any) *rpc.Error {
	return &rpc.Error{Code: mcp.CodeHeaderMismatch, Message: "Header mismatch: " + fmt.Sprintf(format, args...)}
}

// headerText decodes the value of a header. ok is false if the value is not valid
// (2026-07-28/basic/transports/streamable-http#value-encoding).
func headerText(value string) (text string, ok bool) {
	if encoded, found := strings.CutPrefix(value, "=?base64?"); found {
		if encoded, found = strings.CutSuffix(encoded, "?="); found {
			text, err := base64.StdEncoding.Strict().DecodeString(encoded)
			return string(text), err == nil
		}
	}
	return value, !strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c > '~' })
}
