package gateway

import (
	"fmt"
	"slices"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// httpStream is what goes out on one response, and on those that resume it. mu of the session guards
// it.
type httpStream struct {
	number   uint32
	seq      uint64  // of its newest event, from 1
	handed   uint64  // of the newest that was handed to an outbox
	box      *outbox // nil while no response is open
	began    bool    // it has become a stream of events
	requests int     // of the client in it that have no answer yet
	open     bool    // more of them may come
	ended    bool
}

type keptEvent struct {
	stream *httpStream
	seq    uint64
	event  event
}

// Bounds of the events that are kept for a client that resumes. One is kept whatever its size.
const (
	maxKept      = 1000
	maxKeptBytes = 1 << 20
)

// newStream returns a stream with an outbox, for a POST.
func (s *httpSession) newStream() (*httpStream, *outbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	st := &httpStream{number: s.last, requests: 1}
	s.attach(st, false, 0)
	s.streams[st.number] = st
	return st, st.box
}

// attach gives a stream another outbox, for a client that has got its events up to seq. The caller
// holds mu.
func (s *httpSession) attach(st *httpStream, stream bool, seq uint64) {
	if st.box != nil {
		st.box.put(true)
	}
	st.box = newOutbox(stream)
	st.box.began = func() string {
		s.mu.Lock()
		st.began = true
		s.mu.Unlock()
		if _, version := s.client(); version < mcp.Version20251125 {
			return ""
		}
		return eventID(st, seq) // primes the client, see 2025-11-25/basic/transports#sending-messages-to-the-server
	}
}

func eventID(st *httpStream, seq uint64) string { return fmt.Sprintf("%d-%d", st.number, seq) }

// resume gives an outbox to the stream of which the client has got the events up to this one; with ""
// to what a GET listens to. It returns nil if events after it are missing. A response that is still
// open ends: the client has left it.
func (s *httpSession) resume(last string) (*httpStream, *outbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number, seq := uint32(0), s.streams[0].handed
	if last != "" {
		var n uint32
		if _, err := fmt.Sscanf(last, "%d-%d", &n, &seq); err != nil || eventID(&httpStream{number: n}, seq) != last {
			return nil, nil
		}
		number = n
	}
	st := s.streams[number]
	if st == nil || seq > st.seq {
		return nil, nil
	}
	var missed []event
	for _, k := range s.kept {
		if k.stream == st && k.seq > seq {
			missed = append(missed, k.event)
		}
	}
	if last != "" && uint64(len(missed)) < st.seq-seq {
		return nil, nil
	}
	s.attach(st, true, seq)
	st.box.put(st.ended, missed...)
	st.handed = st.seq
	return st, st.box
}

// detach says that the response of an outbox has ended.
func (s *httpSession) detach(st *httpStream, box *outbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.box == box {
		st.box = nil
	}
}

// drop forgets a stream on which nothing comes.
func (s *httpSession) drop(st *httpStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st.number)
}

// newest returns the newest stream of a request whose response is open: what comes now is likely to
// be about that. Without one it is what a GET listens to. The caller holds mu.
func (s *httpSession) newest() *httpStream {
	newest := s.streams[0]
	for n, st := range s.streams {
		if st.box != nil && !st.ended && st.requests > 0 && n > newest.number {
			newest = st
		}
	}
	return newest
}

// put adds an event to a stream. The caller holds mu.
func (s *httpSession) put(st *httpStream, e event, answer bool) {
	last := answer && st.requests == 1 && !st.open
	if !last || st.began || st.seq > 0 { // else it is the whole response, and no event
		st.seq++
		e.id = eventID(st, st.seq)
		s.keep(keptEvent{st, st.seq, e})
	}
	if st.box != nil {
		st.handed = st.seq
		st.box.put(last, e)
	}
	if answer {
		st.requests--
		s.finish(st)
	}
}

// keep keeps an event for a client that resumes. The caller holds mu.
func (s *httpSession) keep(k keptEvent) {
	s.kept = append(s.kept, k)
	s.keptBytes += len(k.event.text)
	for len(s.kept) > maxKept || len(s.kept) > 1 && s.keptBytes > maxKeptBytes {
		old := s.kept[0]
		s.kept[0] = keptEvent{}
		s.kept = s.kept[1:]
		s.keptBytes -= len(old.event.text)
		if old.stream.ended && old.seq == old.stream.seq {
			delete(s.streams, old.stream.number)
		}
	}
}

// settled says that a message in a stream has no answer, and gets none.
func (s *httpSession) settled(number uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.streams[number]; st != nil && !st.ended {
		st.requests--
		s.finish(st)
	}
}

// finish ends a stream in which all requests have their answers. The caller holds mu.
func (s *httpSession) finish(st *httpStream) {
	if st.requests > 0 || st.open {
		return
	}
	st.ended = true
	if st.box != nil {
		st.box.put(true)
	}
	if !slices.ContainsFunc(s.kept, func(k keptEvent) bool { return k.stream == st }) {
		delete(s.streams, st.number)
	}
}
