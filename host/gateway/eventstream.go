package gateway

import (
	"fmt"
	"slices"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// eventStream is the messages that belong to one POST, or to no request. They go out on the response to
// that POST, or to a GET, and on the responses to requests that resume it. mu of the session guards its
// fields.
type eventStream struct {
	number     uint32
	seq        uint64     // the number of its newest event, from 1
	handedSeq  uint64     // the number of the newest event that an outbox has got
	outbox     *outbox    // nil while no response is open
	isSSE      bool       // it has become a stream of events
	unanswered int        // requests of the client in it that have no answer yet
	batchOpen  bool       // more requests of its batch may come
	serving    int        // requests in it that the peer serves
	admission  *admission // that of the POST; nil for the stream of a GET
	ended      bool
}

type resumableEvent struct {
	stream *eventStream
	seq    uint64
	event  event
}

// Bounds of the events that are kept for a client that resumes. One event is always kept, of any
// size.
const (
	maxKept      = 1000
	maxKeptBytes = 1 << 20
)

// newStream returns a stream with an outbox, for a POST. Each request in the stream holds the
// admission of the POST.
func (s *httpSession) newStream(a *admission) (*eventStream, *outbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	st := &eventStream{number: s.last, unanswered: 1, admission: a}
	s.attach(st, false, 0)
	s.streams[st.number] = st
	return st, st.outbox
}

// attach gives a stream a new outbox, for a client that has the events up to seq. The caller holds
// mu.
func (s *httpSession) attach(st *eventStream, stream bool, seq uint64) {
	if st.outbox != nil {
		st.outbox.put(true)
	}
	st.outbox = newOutbox(stream)
	st.outbox.onSSE = func() string {
		s.mu.Lock()
		st.isSSE = true
		s.mu.Unlock()
		if _, version := s.client(); version < mcp.Version20251125 {
			return ""
		}
		return eventID(st, seq) // primes the client, see 2025-11-25/basic/transports#sending-messages-to-the-server
	}
}

func eventID(st *eventStream, seq uint64) string { return fmt.Sprintf("%d-%d", st.number, seq) }

// resume gives a new outbox to the stream that the event with the id last is of. The client has the
// events up to that one. With "" the stream is the one for a GET. resume returns nil if later events
// are not kept any more. It ends a response of the stream that is still open: the client has left it.
func (s *httpSession) resume(last string) (*eventStream, *outbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number, seq := uint32(0), s.streams[0].handedSeq
	if last != "" {
		var n uint32
		if _, err := fmt.Sscanf(last, "%d-%d", &n, &seq); err != nil || eventID(&eventStream{number: n}, seq) != last {
			return nil, nil
		}
		number = n
	}
	st := s.streams[number]
	if st == nil || seq > st.seq {
		return nil, nil
	}
	var missed []event
	for _, r := range s.kept {
		if r.stream == st && r.seq > seq {
			missed = append(missed, r.event)
		}
	}
	if last != "" && uint64(len(missed)) < st.seq-seq {
		return nil, nil
	}
	s.attach(st, true, seq)
	st.outbox.put(st.ended, missed...)
	st.handedSeq = st.seq
	return st, st.outbox
}

// detach takes an outbox from its stream, because the response has ended.
func (s *httpSession) detach(st *eventStream, box *outbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.outbox == box {
		st.outbox = nil
	}
}

// drop forgets a stream that gets no events.
func (s *httpSession) drop(st *eventStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st.number)
}

// newest returns the newest stream that has a request under way and an open response: a message that
// names no request is likely to be about that request. If there is none, newest returns the stream
// for a GET. A POST without a request does not count, because its response can carry no messages. The
// caller holds mu.
func (s *httpSession) newest() *eventStream {
	newest := s.streams[0]
	for n, st := range s.streams {
		if st.outbox != nil && !st.ended && st.serving > 0 && n > newest.number {
			newest = st
		}
	}
	return newest
}

// addEvent adds an event to a stream. The caller holds mu.
func (s *httpSession) addEvent(st *eventStream, e event, answer bool) {
	last := answer && st.unanswered == 1 && !st.batchOpen
	if !last || st.isSSE || st.seq > 0 { // else it is the whole response, and needs no id
		st.seq++
		e.id = eventID(st, st.seq)
		s.keepForResume(resumableEvent{st, st.seq, e})
	}
	if st.outbox != nil {
		st.handedSeq = st.seq
		st.outbox.put(last, e)
	}
	if answer {
		st.unanswered--
		s.finish(st)
	}
}

// keepForResume keeps an event for a client that resumes. The caller holds mu.
func (s *httpSession) keepForResume(r resumableEvent) {
	s.kept = append(s.kept, r)
	s.keptBytes += len(r.event.text)
	for len(s.kept) > maxKept || len(s.kept) > 1 && s.keptBytes > maxKeptBytes {
		old := s.kept[0]
		s.kept[0] = resumableEvent{}
		s.kept = s.kept[1:]
		s.keptBytes -= len(old.event.text)
		s.forget(old.stream)
	}
}

// beginServing counts a request in a stream that the peer serves.
func (s *httpSession) beginServing(number uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.streams[number]
	st.serving++
	st.admission.hold()
}

// endServing ends what beginServing began: the peer has served the request.
func (s *httpSession) endServing(number uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.streams[number]
	st.serving--
	st.admission.release()
	s.forget(st)
}

// endWithoutAnswer notes that a message in a stream gets no answer.
func (s *httpSession) endWithoutAnswer(number uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.streams[number]; st != nil && !st.ended {
		st.unanswered--
		s.finish(st)
	}
}

// finish ends a stream if all requests in it have their answers. The caller holds mu.
func (s *httpSession) finish(st *eventStream) {
	if st.unanswered > 0 || st.batchOpen {
		return
	}
	st.ended = true
	if st.outbox != nil {
		st.outbox.put(true)
	}
	s.forget(st)
}

// forget removes a stream that has ended, unless a client may resume it or the peer still serves a
// request in it. The caller holds mu.
func (s *httpSession) forget(st *eventStream) {
	if st.ended && st.serving == 0 && !slices.ContainsFunc(s.kept, func(r resumableEvent) bool { return r.stream == st }) {
		delete(s.streams, st.number)
	}
}
