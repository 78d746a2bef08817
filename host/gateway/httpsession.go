package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// httpSession is a legacy client over HTTP, and the link of the client's peer. Messages that
// belong to a request go out on the response to its POST, and all others on the response to a GET.
// If a response breaks off, the request goes on: the client can resume the response with the id of
// the last event that it got.
type httpSession struct {
	keptClient
	id                    string
	principal, serverName string
	conn                  *clientConn
	peer                  *rpc.Peer
	ctx                   context.Context
	cancel                context.CancelCauseFunc

	mu        sync.Mutex
	streams   map[uint32]*eventStream // by number; 0 is what a GET listens to
	last      uint32                  // the number of the newest stream
	kept      []resumableEvent        // for clients that resume, oldest first
	keptBytes int
}

// initialize answers an initialize. It opens a session, and ends the session again if the server
// refuses or the client hangs up.
func (h *handler) initialize(x *httpExchange, body []byte) {
	s, why := h.openSession(x)
	if s == nil {
		x.busy(why)
		return
	}
	defer h.releaseClient(&s.keptClient)
	st, box := s.newStream(x.admission)
	s.peer.Deliver(st.number, body, true)
	var answer []event
	select {
	case <-box.wake:
		answer, _ = box.take() // has one message: nothing is sent to a client before this answer
	case <-x.r.Context().Done():
	case <-s.ctx.Done():
	}
	open := false
	if len(answer) == 0 {
		x.busy("the session has ended before initialize was answered: send it again")
	} else {
		if open, _ = s.client(); open {
			x.w.Header().Set(headerSessionID, s.id)
		}
		open = newClientWriter(x.w).writeMessage(http.StatusOK, answer[0].text) == nil && open
	}
	if !open { // the client does not know the session
		h.evict(&s.keptClient)
	}
}

// openSession returns a new session that one request uses. If there can be none, it returns nil and
// why.
func (h *handler) openSession(x *httpExchange) (s *httpSession, why string) {
	s = &httpSession{id: rand.Text(), principal: x.principal, serverName: x.serverName}
	s.streams = map[uint32]*eventStream{0: {batchOpen: true, isSSE: true}}
	s.keptClient.removeFromMaps, s.keptClient.closeClient = s.removeFromMaps, s.close
	h.mu.Lock()
	for idle, full := h.longestIdle(x); full && idle != nil; idle, full = h.longestIdle(x) {
		h.mu.Unlock()
		h.evictIfIdle(&idle.keptClient)
		h.mu.Lock()
	}
	defer h.mu.Unlock()
	if why := h.full(x.principal); why != "" {
		return nil, why
	}
	if _, full := h.longestIdle(x); full {
		return nil, fmt.Sprintf("this client has %d sessions here, all in use, which is the most: end one with DELETE", maxSessionsOf)
	}
	if err := h.addClient(&s.keptClient); err != nil {
		return nil, err.Error()
	}
	s.ctx, s.cancel = context.WithCancelCause(h.gateway.ctx)
	s.conn = newClientConn(s.ctx, h.gateway, origin{principal: httpPrincipal(s.principal), kind: policy.Gateway, peer: x.r.RemoteAddr, kept: &s.keptClient}, s.serverName)
	s.peer = rpc.NewPeer(rpc.Config{Link: s, Handler: sessionConn{s.conn, s}, Serving: true})
	s.conn.peer = s.peer
	context.AfterFunc(s.ctx, func() { h.evict(&s.keptClient) })
	h.sessions[s.id] = s
	return s, ""
}

// longestIdle reports whether the principal of a request has as many sessions at its path as it may.
// idle is the session among them that has been idle for the longest time, or nil if all are in use.
// Many programs call once and never end their session; if one comes back, it begins another. The
// caller holds mu.
func (h *handler) longestIdle(x *httpExchange) (idle *httpSession, full bool) {
	n := 0
	for _, s := range h.sessions {
		if s.principal != x.principal || s.serverName != x.serverName {
			continue
		}
		n++
		if s.users == 0 && (idle == nil || s.idleSince.Before(idle.idleSince)) {
			idle = s
		}
	}
	return idle, n >= maxSessionsOf
}

// removeFromMaps is called with mu of the handler held.
func (s *httpSession) removeFromMaps() { delete(s.handler.sessions, s.id) }

func (s *httpSession) close() {
	if s.handler.gateway.ctx.Err() != nil {
		endRequests(s.peer, ErrClosed)
	}
	s.cancel(nil)
	s.peer.Close(nil)
	s.conn.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		if st.outbox != nil {
			st.outbox.put(true)
		}
	}
	s.kept = nil
}

// session returns the session with an id, which the request uses until releaseClient. If there is
// none, session answers the request and returns nil. It does not find sessions of other principals
// or at other paths.
func (h *handler) session(x *httpExchange, id string) *httpSession {
	h.mu.Lock()
	s := h.sessions[id]
	if s != nil && (s.principal != x.principal || s.serverName != x.serverName) {
		s = nil
	}
	version := x.r.Header.Get(headerVersion)
	known := version == "" || slices.Contains(legacyVersions, version)
	if s != nil && known {
		h.useClient(&s.keptClient)
	}
	h.mu.Unlock()
	switch {
	case s == nil:
		x.refuse(http.StatusNotFound, "there is no such session: send initialize anew, without "+headerSessionID)
	case !known:
		x.refuse(http.StatusBadRequest, headerVersion+" is no revision that is served")
	default:
		return s
	}
	return nil
}

// delete answers a DELETE: it ends the session that the request names.
func (h *handler) delete(x *httpExchange) {
	id := x.r.Header.Get(headerSessionID)
	if id == "" {
		x.refuse(http.StatusBadRequest, "there is no "+headerSessionID)
		return
	}
	if s := h.session(x, id); s != nil {
		h.evict(&s.keptClient)
		h.releaseClient(&s.keptClient)
		x.w.WriteHeader(http.StatusNoContent)
	}
}

// client reports whether initialize has succeeded, and returns the revision agreed on.
func (s *httpSession) client() (open bool, version string) {
	c := s.conn.current()
	if c == nil || c.legacyHandshake() == nil {
		return false, ""
	}
	return c.legacyHandshake().agreed()
}

// post answers a POST in an open session.
func (s *httpSession) post(x *httpExchange, body []byte) {
	st, box := s.newStream(x.admission)
	defer s.detach(st, box)
	if start := strictjson.Start(body); start < len(body) && body[start] == '[' {
		if _, version := s.client(); version == mcp.Version20250326 {
			s.postBatch(x, st, box, body)
			return
		}
	}
	switch s.peer.Deliver(st.number, body, true) {
	case abi.VerdictRequest:
		box.serve(x.r.Context(), x.w)
	case abi.VerdictNote, abi.VerdictAnswer, abi.VerdictLate, abi.VerdictWrongID:
		s.drop(st)
		x.w.WriteHeader(http.StatusAccepted)
	default:
		s.drop(st)
		x.answer(http.StatusBadRequest, rpc.AppendRefusal(nil, body, nil))
	}
}

// maxBatch is how many messages an array may have.
const maxBatch = 100

// postBatch answers a POST that has an array of messages, which only revision 2025-03-26
// allows. All answers are events of the response.
func (s *httpSession) postBatch(x *httpExchange, st *eventStream, box *outbox, body []byte) {
	var messages [][]byte
	var w strictjson.Walk
	w.Open(body, strictjson.DefaultDepth+1)
	for _, message := range w.Parts() {
		messages = append(messages, message)
	}
	if w.Err() != nil || len(messages) == 0 || len(messages) > maxBatch {
		s.drop(st)
		x.answer(http.StatusBadRequest, rpc.AppendRefusal(nil, body, nil))
		return
	}
	if wait := s.handler.rates.take(x.principal, len(messages)-1); wait > 0 {
		s.drop(st)
		x.tooMany(wait)
		return
	}
	s.mu.Lock()
	st.batchOpen, st.unanswered, st.isSSE, box.alwaysSSE = true, 0, true, true
	s.mu.Unlock()
	asked := false
	for _, message := range messages {
		s.mu.Lock()
		st.unanswered++
		s.mu.Unlock()
		switch s.peer.Deliver(st.number, message, false) {
		case abi.VerdictRequest:
			asked = true
		case abi.VerdictNote, abi.VerdictAnswer, abi.VerdictLate, abi.VerdictWrongID:
			s.endWithoutAnswer(st.number)
		default:
			asked = true
			s.mu.Lock()
			s.addEvent(st, event{text: rpc.AppendRefusal(nil, message, nil)}, true)
			s.mu.Unlock()
		}
	}
	if !asked {
		s.drop(st)
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	s.mu.Lock()
	st.batchOpen = false
	s.finish(st)
	s.mu.Unlock()
	box.serve(x.r.Context(), x.w)
}

// listen answers a GET: with the messages that belong to no request, or with the rest of a response
// that the client resumes.
func (h *handler) listen(x *httpExchange) {
	id := x.r.Header.Get(headerSessionID)
	switch {
	case !accepts(x.r, mediaEvents):
		x.refuse(http.StatusNotAcceptable, "Accept does not list "+mediaEvents)
		return
	case id == "":
		x.refuse(http.StatusBadRequest, "there is no "+headerSessionID)
		return
	}
	s := h.session(x, id)
	if s == nil {
		return
	}
	defer h.releaseClient(&s.keptClient)
	st, box := s.resume(x.r.Header.Get(headerLastEventID))
	if st == nil {
		x.refuse(http.StatusBadRequest, "the events after this "+headerLastEventID+" are no longer kept")
		return
	}
	defer s.detach(st, box)
	box.serve(x.r.Context(), x.w)
}

// Send adds a message of the peer to the stream that it belongs to. Only the peer calls it.
func (s *httpSession) Send(ctx context.Context, m *rpc.Message) error {
	defer m.Free()
	s.mu.Lock()
	st := s.streams[m.About()]
	switch {
	case m.Kind == abi.Request && (m.About() == 0 || st == nil || st.ended), m.About() == 0 && m.Method == mcp.NotificationMessage:
		st = s.newest()
	case st == nil || st.ended: // a notification that is too late for its response
		s.mu.Unlock()
		return nil
	}
	s.addEvent(st, event{text: bytes.Clone(m.Body())}, m.Kind == abi.Reply)
	box := st.outbox
	s.mu.Unlock()
	if box == nil || m.Kind != abi.Notification {
		return nil
	}
	return box.awaitRoom(ctx)
}

// Cancel returns false: a message that was sent cannot be taken back. Only the peer calls it.
func (s *httpSession) Cancel(uint32) (unsent bool) { return false }

// sessionConn is the handler of the peer of a session.
type sessionConn struct {
	*clientConn
	session *httpSession
}

// Admit takes a request. Its response can carry questions of the server from now on, which is
// before the server can have the request.
func (c sessionConn) Admit(in *rpc.Incoming) {
	c.session.beginServing(in.Exchange())
	c.clientConn.Admit(in)
}

// Over notes that a request is over. If it gets no answer, because the client has cancelled it, Over
// ends its response.
func (c sessionConn) Over(in *rpc.Incoming, answered bool) {
	c.clientConn.Over(in, answered)
	if !answered {
		c.session.endWithoutAnswer(in.Exchange())
	}
	c.session.endServing(in.Exchange())
}
