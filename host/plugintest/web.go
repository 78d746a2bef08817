package plugintest

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/wharf-mcp/wharf/abi"
)

// webWire is a wire of HTTP exchanges: a POST for each message. Answers come with their
// own response (Streamable HTTP), as JSON or as events, or all on the one stream that was
// opened first (HTTP+SSE, which is legacy).
func webWire(name, class string, legacy, events bool) wire {
	return wire{name, class, func(g *harness) server {
		return &webServer{stage: g, legacy: legacy, events: events, calls: map[uint32]*stream{}, rest: map[uint32]rest{}, status: 200}
	}}
}

var (
	streamableHTTP = []wire{webWire("streamable http, json", "http", false, false), webWire("streamable http, events", "http", false, true)}
	legacySSE      = []wire{webWire("http+sse", "sse", true, false)}
)

// rest is the second half of something.
type rest struct {
	bytes []byte
	ends  bool // it is of an answer
}

type webServer struct {
	stage  *harness
	legacy bool               // HTTP+SSE
	events bool               // answers are event streams
	main   *stream            // what belongs to no exchange
	calls  map[uint32]*stream // requests that were heard
	status int                // of the next answer as JSON
	rest   map[uint32]rest
	gone   bool
}

var (
	events = []abi.Pair{{Key: "content-type", Value: "text/event-stream"}}
	asJSON = []abi.Pair{{Key: "content-type", Value: "application/json"}}
)

func (v *webServer) opened(s *stream) error {
	if s.kind != abi.OpenHTTP || s.is(abi.Upgrade) {
		return fmt.Errorf("the guest opened a %s, expected plain HTTP", s.kind)
	}
	if s.request.Method == "" {
		return errors.New("the guest opened an HTTP exchange without a method")
	}
	return nil
}

// wrote takes a request when it is whole.
func (v *webServer) wrote(s *stream) error {
	if !s.ended || s.begun || s.closed {
		return nil
	}
	s.begun = true
	if v.gone {
		s.fail(abi.Unreachable)
		return nil
	}
	switch s.request.Method {
	case "POST":
		return v.posted(s)
	case "GET":
		v.listened(s)
	default:
		s.head(200, nil, 0, nil, true)
	}
	return nil
}

func (v *webServer) posted(s *stream) error {
	exchange, err := v.stage.hears(s.heard)
	if err != nil {
		return err
	}
	if v.legacy && s.request.Target != endpoint {
		return fmt.Errorf("the guest posted to %q; the server said %q", s.request.Target, endpoint)
	}
	e, err := readEnvelope(string(s.heard))
	if err != nil {
		return err
	}
	if v.legacy || e.kind() != abi.Request {
		s.over = true
		s.head(202, nil, 0, nil, true)
		return nil
	}
	v.calls[exchange], s.begun = s, false
	return nil
}

// endpoint is where messages go to on HTTP+SSE.
const endpoint = "/messages?session=kit"

func (v *webServer) listened(s *stream) {
	v.main = s
	s.head(200, events, -1, nil, false)
	if v.legacy {
		v.stage.say(s, []byte("event: endpoint\ndata: "+endpoint+"\n\n"))
	}
}

// event is a message as an event of a stream.
func event(message string) []byte { return []byte("event: message\ndata: " + message + "\n\n") }

func (v *webServer) say(exchange uint32, message string, half bool) error {
	s := v.calls[exchange]
	if s == nil || v.legacy {
		s = v.main
	}
	if s == nil {
		return errors.New("the guest has opened no stream that this message could come by")
	}
	if r, ok := v.rest[exchange]; ok {
		delete(v.rest, exchange)
		v.flush(s, r.bytes, r.ends)
		return v.stage.pump()
	}
	e, err := readEnvelope(message)
	answers := s != v.main && (err != nil || e.kind() == abi.Reply)
	p := []byte(message)
	switch {
	case s == v.main || s.begun || !answers || v.events && v.status == 200:
		p = event(message)
		v.head(s, events, -1)
	case v.whole(p) && !half:
		s.begun, s.over = true, true
		s.head(v.code(), v.headers(asJSON), int64(len(p)), p, true)
		return v.stage.pump()
	default:
		v.head(s, asJSON, int64(len(p)))
	}
	if half {
		v.rest[exchange] = rest{p[len(p)/2:], answers}
		p = p[:len(p)/2]
	}
	v.flush(s, p, answers && !half)
	return v.stage.pump()
}

// whole reports whether a body comes with its head.
func (v *webServer) whole(p []byte) bool {
	return !v.stage.cut.all && v.stage.cut.at == 0 && !v.stage.holding && len(p) <= abi.ChunkSize
}

// head begins a response, unless it has begun.
func (v *webServer) head(s *stream, media []abi.Pair, length int64) {
	if !s.begun {
		s.begun = true
		s.head(v.code(), v.headers(media), length, nil, false)
	}
}

// code is the status of the answer that is due.
func (v *webServer) code() int {
	code := v.status
	v.status = 200
	return code
}

// headers are those of an answer; one of the legacy era names the session.
func (v *webServer) headers(list []abi.Pair) []abi.Pair {
	if v.stage.version == "" && v.stage.epoch == 0 {
		return append(list[:1:1], abi.Pair{Key: "mcp-session-id", Value: "kit-" + strconv.Itoa(len(v.calls))})
	}
	return list
}

// flush sends p, and the end of the response if last.
func (v *webServer) flush(s *stream, p []byte, last bool) {
	s.held = append(s.held, p...)
	s.over = s.over || last
	if !v.stage.holding {
		v.stage.flush(s, last)
	}
}

func (v *webServer) raw(p []byte) error {
	s := v.main
	for _, c := range v.calls {
		if !c.over && !c.closed {
			s = c
		}
	}
	if s == nil {
		return errNoStream
	}
	v.head(s, events, -1)
	v.flush(s, p, false)
	return v.stage.pump()
}

// open lists the responses that are not over, in the order of their requests.
func (v *webServer) open() (list []*stream) {
	for _, s := range v.stage.streams {
		if s.ended && !s.over && !s.closed {
			list = append(list, s)
		}
	}
	return list
}

func (v *webServer) leave() error {
	for _, s := range v.open() {
		if s.over = true; !s.begun {
			s.begun = true
			s.head(v.status, events, 0, nil, true)
			continue
		}
		v.stage.flush(s, true)
	}
	v.gone = true
	return v.stage.pump()
}

func (v *webServer) crash(status abi.Status) error {
	v.gone = true
	for _, s := range v.open() {
		s.over, s.begun = true, true
		v.stage.later(func() error { s.fail(status); return nil })
	}
	return v.stage.pump()
}

func (v *webServer) release() {
	for _, s := range v.stage.streams {
		if len(s.held) > 0 {
			v.stage.flush(s, s.over)
		}
	}
}
