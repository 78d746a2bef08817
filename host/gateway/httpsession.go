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
)

// httpSession is a legacy client over HTTP. It is the link of the client's peer. What belongs to a
// request goes out on the response to its POST, all else on the response to a GET. A response that
// breaks off cancels nothing: the client resumes it with the id of the last event that it got.
type httpSession struct {
	lodger
	handler           *handler
	id                string
	principal, server string
	pipe              *pipe
	peer              *rpc.Peer
	ctx               context.Context
	cancel            context.CancelCauseFunc

	mu        sync.Mutex
	streams   map[uint32]*httpStream // by number; 0 is what a GET listens to
	last      uint32                 // the number of the newest stream
	kept      []keptEvent            // for clients that resume, oldest first
	keptBytes int
}

// initialize opens a session for a client that asks for one.
func (h *handler) initialize(x *exchange, body []byte) {
	s, why := h.openSession(x)
	if s == nil {
		x.busy(why)
		return
	}
	defer h.leave(&s.lodger)
	st, box := s.newStream()
	s.peer.Deliver(st.number, body, true)
	failed := true
	select {
	case <-box.wake:
		// The first message is the answer: before it nothing is sent to a client.
		if open, _ := s.client(); open {
			x.w.Header().Set(headerSession, s.id)
			failed = false
		}
		events, _ := box.take()
		for _, e := range events {
			if newClientWriter(x.w).whole(http.StatusOK, e.text) != nil {
				failed = true
			}
		}
	case <-x.r.Context().Done():
	case <-s.ctx.Done():
	}
	if failed { // the client does not know of it
		h.evict(&s.lodger, false)
	}
}

// openSession returns a session that is in one request, or why there is none.
func (h *handler) openSession(x *exchange) (s *httpSession, why string) {
	s = &httpSession{handler: h, id: rand.Text(), principal: x.principal, server: x.server}
	s.streams = map[uint32]*httpStream{0: {open: true, began: true}}
	s.lodger.forget, s.lodger.end = s.forget, s.close
	h.mu.Lock()
	defer h.mu.Unlock()
	own := 0
	for _, other := range h.sessions {
		if other.principal == x.principal && other.server == x.server {
			own++
		}
	}
	switch {
	case len(h.sessions)+len(h.moderns) >= maxSessions:
		return nil, fmt.Sprintf("%d sessions are open, which is the most", maxSessions)
	case own >= maxSessionsOf:
		return nil, fmt.Sprintf("this client has %d sessions here, which is the most: end one with DELETE", maxSessionsOf)
	}
	if err := h.lodge(&s.lodger); err != nil {
		return nil, err.Error()
	}
	s.ctx, s.cancel = context.WithCancelCause(h.gateway.ctx)
	s.pipe = newPipe(s.ctx, h.gateway, s.server)
	s.peer = rpc.NewPeer(rpc.Config{Link: s, Handler: sessionPipe{s.pipe, s}, Serving: true})
	s.pipe.begin(s.peer)
	context.AfterFunc(s.ctx, func() { h.evict(&s.lodger, false) })
	h.sessions[s.id] = s
	return s, ""
}

// forget is called with mu of the handler held.
func (s *httpSession) forget() { delete(s.handler.sessions, s.id) }

func (s *httpSession) close() {
	s.cancel(nil)
	s.peer.Close(nil)
	s.pipe.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		if st.box != nil {
			st.box.put(true)
		}
	}
	s.kept = nil
}

// session returns the session of a request, which enters it. If there is none, it answers the
// request. Sessions of other principals, and at other paths, are as unknown as any.
func (h *handler) session(x *exchange, id string) *httpSession {
	h.mu.Lock()
	s := h.sessions[id]
	if s != nil && (s.principal != x.principal || s.server != x.server) {
		s = nil
	}
	version := x.r.Header.Get(headerVersion)
	known := version == "" || slices.Contains(legacyVersions, version)
	if s != nil && known {
		h.enter(&s.lodger)
	}
	h.mu.Unlock()
	switch {
	case s == nil:
		x.refuse(http.StatusNotFound, "there is no such session: send initialize anew, without "+headerSession)
	case !known:
		x.refuse(http.StatusBadRequest, headerVersion+" is no revision that is served")
	default:
		return s
	}
	return nil
}

// delete ends a session.
func (h *handler) delete(x *exchange) {
	id := x.r.Header.Get(headerSession)
	if id == "" {
		x.refuse(http.StatusBadRequest, "there is no "+headerSession)
		return
	}
	if s := h.session(x, id); s != nil {
		h.evict(&s.lodger, false)
		h.leave(&s.lodger)
		x.w.WriteHeader(http.StatusNoContent)
	}
}

// client reports whether the client of the session has been greeted, and the revision agreed on.
func (s *httpSession) client() (open bool, version string) {
	c := s.pipe.current()
	if c == nil || c.handshake() == nil {
		return false, ""
	}
	return c.handshake().agreed()
}

// post takes a message that is not the first.
func (s *httpSession) post(x *exchange, body []byte) {
	st, box := s.newStream()
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

// postBatch takes an array of messages, as one revision has them. All answers are events of the
// response.
func (s *httpSession) postBatch(x *exchange, st *httpStream, box *outbox, body []byte) {
	var messages [][]byte
	w := strictjson.Open(body, strictjson.DefaultDepth+1)
	for _, message := range w.Parts() {
		messages = append(messages, message)
	}
	if w.Err() != nil || len(messages) == 0 || len(messages) > maxBatch {
		s.drop(st)
		x.answer(http.StatusBadRequest, rpc.AppendRefusal(nil, body, nil))
		return
	}
	s.mu.Lock()
	st.open, st.requests, st.began, box.stream = true, 0, true, true
	s.mu.Unlock()
	asked := false
	for _, message := range messages {
		s.mu.Lock()
		st.requests++
		s.mu.Unlock()
		switch s.peer.Deliver(st.number, message, false) {
		case abi.VerdictRequest:
			asked = true
		case abi.VerdictNote, abi.VerdictAnswer, abi.VerdictLate, abi.VerdictWrongID:
			s.settled(st.number)
		default:
			asked = true
			s.mu.Lock()
			s.put(st, event{text: rpc.AppendRefusal(nil, message, nil)}, true)
			s.mu.Unlock()
		}
	}
	if !asked {
		s.drop(st)
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	s.mu.Lock()
	st.open = false
	s.finish(st)
	s.mu.Unlock()
	box.serve(x.r.Context(), x.w)
}

// listen has a client hear of what belongs to none of its requests, or resume a response.
func (h *handler) listen(x *exchange) {
	id := x.r.Header.Get(headerSession)
	switch {
	case !accepts(x.r, mediaEvents):
		x.refuse(http.StatusNotAcceptable, "Accept does not list "+mediaEvents)
		return
	case id == "":
		x.refuse(http.StatusBadRequest, "there is no "+headerSession)
		return
	}
	s := h.session(x, id)
	if s == nil {
		return
	}
	defer h.leave(&s.lodger)
	st, box := s.resume(x.r.Header.Get(headerLast))
	if st == nil {
		x.refuse(http.StatusBadRequest, "the events after this "+headerLast+" are no longer kept")
		return
	}
	defer s.detach(st, box)
	box.serve(x.r.Context(), x.w)
}

// Send brings a message of the peer to its stream. It is called by the peer.
func (s *httpSession) Send(ctx context.Context, m *rpc.Message) error {
	defer m.Free()
	s.mu.Lock()
	st := s.streams[m.About()]
	switch {
	case m.Kind == abi.Request && (m.About() == 0 || st == nil || st.ended), m.About() == 0 && m.Method == mcp.NotificationMessage:
		st = s.newest()
	case st == nil || st.ended: // a notification that comes too late
		s.mu.Unlock()
		return nil
	}
	s.put(st, event{text: bytes.Clone(m.Body())}, m.Kind == abi.Reply)
	box := st.box
	s.mu.Unlock()
	if box == nil || m.Kind != abi.Notification {
		return nil
	}
	return box.awaitRoom(ctx)
}

// Cancel is called by the peer. What was sent has left.
func (s *httpSession) Cancel(uint32) (unsent bool) { return false }

// sessionPipe is the handler of the peer of a session.
type sessionPipe struct {
	*pipe
	session *httpSession
}

// Over ends the response to a request that gets no answer, because the client has cancelled it.
func (p sessionPipe) Over(in *rpc.Incoming, answered bool) {
	p.pipe.Over(in, answered)
	if !answered {
		p.session.settled(in.Exchange())
	}
}
