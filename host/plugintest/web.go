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
		return &webServer{harness: g, legacy: legacy, events: events, calls: map[uint32]*stream{}}
	}}
}

var (
	streamableHTTP = []wire{webWire("streamable http, json", "http", false, false), webWire("streamable http, events", "http", false, true)}
	legacySSE      = []wire{webWire("http+sse", "sse", true, false)}
)

type webServer struct {
	harness *harness
	legacy  bool               // HTTP+SSE
	events  bool               // answers are event streams
	main    *stream            // what belongs to no exchange
	calls   map[uint32]*stream // requests that were heard
}

const (
	eventStream = "text/event-stream"
	asJSON      = "application/json"
)

func (v *webServer) opened(s *stream) error {
	if s.kind != abi.OpenHTTP || s.upgrades() {
		return fmt.Errorf("the guest opened a %s, expected plain HTTP", s.kind)
	}
	return nil
}

// wrote takes a request when it is whole.
func (v *webServer) wrote(s *stream) error {
	if !s.ended || s.taken || s.closed {
		return nil
	}
	s.taken = true
	switch {
	case v.harness.gone:
		s.fail(abi.Unreachable)
	case s.request.Method == "POST":
		return v.posted(s)
	case s.request.Method == "GET":
		v.main = s
		s.head(200, []abi.Pair{contentType(eventStream)}, -1, nil, false)
		if v.legacy {
			v.harness.write(output{s, []byte("event: endpoint\ndata: " + endpoint + "\n\n"), false})
		}
	default:
		s.head(200, nil, 0, nil, true)
	}
	return nil
}

func contentType(media string) abi.Pair { return abi.Pair{Key: "content-type", Value: media} }

// endpoint is the address that messages are posted to on HTTP+SSE.
const endpoint = "/messages?session=kit"

func (v *webServer) posted(s *stream) error {
	exchange, err := v.harness.hears(s.heard)
	if err != nil {
		return err
	}
	if v.legacy && s.request.Target != endpoint {
		return fmt.Errorf("the guest posted to %q; the server said %q", s.request.Target, endpoint)
	}
	e, err := readEnvelope(string(s.heard))
	switch {
	case err != nil:
		return err
	case v.legacy || e.kind() != abi.Request:
		s.head(202, nil, 0, nil, true)
	default:
		v.calls[exchange] = s
	}
	return nil
}

func (v *webServer) message(exchange uint32, text string, halved bool) (output, error) {
	s := v.calls[exchange]
	if s == nil || v.legacy {
		s = v.main
	}
	if s == nil {
		return output{}, errors.New("the guest has opened no stream that this message could come by")
	}
	e, err := readEnvelope(text)
	answers := s != v.main && (err != nil || e.kind() == abi.Reply)
	p := []byte(text)
	switch {
	case !answers || s.headed || v.events && v.harness.status == 200:
		p = []byte("event: message\ndata: " + text + "\n\n")
		v.head(s, eventStream, -1, nil)
	case halved || v.harness.cut.cuts() || v.harness.holding || len(p) > abi.ChunkSize:
		v.head(s, asJSON, int64(len(p)), nil)
	default: // the body comes with its head
		v.head(s, asJSON, int64(len(p)), p)
		return output{}, nil
	}
	return output{s, p, answers}, nil
}

// head begins a response, unless it has begun. A whole body also ends it. A response of the legacy
// era names the session.
func (v *webServer) head(s *stream, media string, length int64, body []byte) {
	if s.headed {
		return
	}
	headers := []abi.Pair{contentType(media)}
	if v.harness.version == "" && v.harness.epoch == 0 {
		headers = append(headers, abi.Pair{Key: "mcp-session-id", Value: "kit-" + strconv.Itoa(len(v.calls))})
	}
	s.head(v.harness.status, headers, length, body, body != nil)
	v.harness.status = 200
}

func (v *webServer) raw() (*stream, error) {
	s := v.main
	for _, c := range v.calls {
		if !c.over && !c.closed {
			s = c
		}
	}
	if s == nil {
		return nil, errNoStream
	}
	v.head(s, eventStream, -1, nil)
	return s, nil
}
