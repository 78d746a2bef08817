package plugintest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/wharf-mcp/wharf/abi"
)

// framing is how messages stand in a byte stream.
type framing interface {
	name() string
	fresh() framing

	// hear takes one message off the beginning of p: n is its length with all that
	// frames it, and 0 means that it is not whole. A frame that is no message is nil.
	hear(g *harness, p []byte) (message []byte, n int, err error)

	// heard says whose message came last, and returns what is known of its frame.
	heard(exchange uint32) map[string]string

	// say frames a message of the server.
	say(exchange uint32, message []byte, vars map[string]string) ([]byte, error)
}

// framingNamed returns a framing that the kit knows, or nil.
func framingNamed(name string) framing {
	switch name {
	case "ndjson":
		return ndjson{}
	case "content-length":
		return contentLength{}
	case "websocket":
		return &webSocket{}
	}
	return nil
}

// ndjson is a message a line.
type ndjson struct{}

func (ndjson) name() string                   { return "ndjson" }
func (ndjson) fresh() framing                 { return ndjson{} }
func (ndjson) heard(uint32) map[string]string { return nil }

func (ndjson) hear(_ *harness, p []byte) ([]byte, int, error) {
	i := bytes.IndexByte(p, '\n')
	if i < 0 {
		return nil, 0, nil
	}
	return bytes.TrimSuffix(p[:i], []byte("\r")), i + 1, nil
}

func (ndjson) say(_ uint32, m []byte, _ map[string]string) ([]byte, error) {
	return append(bytes.Clone(m), '\n'), nil
}

// contentLength is a header with the length before each message.
type contentLength struct{}

func (contentLength) name() string                   { return "content-length" }
func (contentLength) fresh() framing                 { return contentLength{} }
func (contentLength) heard(uint32) map[string]string { return nil }

func (contentLength) hear(_ *harness, p []byte) ([]byte, int, error) {
	head, _, found := bytes.Cut(p, []byte("\r\n\r\n"))
	if !found {
		return nil, 0, nil
	}
	size := -1
	for field := range strings.SplitSeq(string(head), "\r\n") {
		if name, value, _ := strings.Cut(field, ":"); strings.EqualFold(name, "content-length") {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil || n < 0 {
				return nil, 0, fmt.Errorf("the guest wrote a Content-Length of %q", value)
			}
			size = n
		}
	}
	if size < 0 {
		return nil, 0, fmt.Errorf("the guest wrote a header without Content-Length: %s", short(head))
	}
	from := len(head) + 4
	if len(p) < from+size {
		return nil, 0, nil
	}
	return p[from : from+size], from + size, nil
}

func (contentLength) say(_ uint32, m []byte, _ map[string]string) ([]byte, error) {
	return append([]byte("Content-Length: "+strconv.Itoa(len(m))+"\r\n\r\n"), m...), nil
}

// learned is a framing that the kit takes from the guest: another instance sends the
// message that the server is to say, and the server says the same bytes. So it serves
// framings that are the same both ways and have no state.
type learned struct{ sampler *sampler }

func (l *learned) name() string                   { return "learned from the guest" }
func (l *learned) fresh() framing                 { return l }
func (l *learned) heard(uint32) map[string]string { return nil }

func (l *learned) hear(g *harness, p []byte) ([]byte, int, error) {
	for exchange := uint32(1); exchange <= g.exchange; exchange++ {
		if !g.unheard[exchange] {
			continue
		}
		frame, err := l.sampler.frame(g.sent[exchange])
		switch {
		case err != nil:
			return nil, 0, err
		case bytes.HasPrefix(p, frame):
			return []byte(g.sent[exchange]), len(frame), nil
		case bytes.HasPrefix(frame, p):
			return nil, 0, nil
		}
	}
	return nil, 0, fmt.Errorf("the guest wrote what it does not write for any message: %s", short(p))
}

func (l *learned) say(_ uint32, m []byte, _ map[string]string) ([]byte, error) {
	return l.sampler.frame(string(m))
}

// webSocket is WebSocket (RFC 6455), of which a client masks what it sends.
type webSocket struct{ parts []byte }

func (s *webSocket) name() string                   { return "websocket" }
func (s *webSocket) fresh() framing                 { return &webSocket{} }
func (s *webSocket) heard(uint32) map[string]string { return nil }

func (s *webSocket) hear(_ *harness, p []byte) ([]byte, int, error) {
	h, err := readWebSocketHead(p)
	if err != nil || h.from == 0 || len(p)-h.from < h.size {
		return nil, 0, err
	}
	payload, end := bytes.Clone(p[h.from:h.from+h.size]), h.from+h.size
	for i := range payload {
		payload[i] ^= h.mask[i%4]
	}
	if h.opcode >= 8 { // ping, pong or close
		return nil, end, nil
	}
	if s.parts = append(s.parts, payload...); !h.fin {
		return nil, end, nil
	}
	whole := s.parts
	s.parts = nil
	return whole, end, nil
}

type webSocketHead struct {
	opcode     byte
	fin        bool
	mask       [4]byte
	from, size int
}

var errUnmasked = errors.New("the guest sent a WebSocket frame that is not masked")

func readWebSocketHead(p []byte) (h webSocketHead, err error) {
	if len(p) < 2 {
		return h, nil
	}
	h.opcode, h.fin, h.size = p[0]&15, p[0]&0x80 != 0, int(p[1]&0x7f)
	if p[1]&0x80 == 0 {
		return h, errUnmasked
	}
	from := 2
	switch {
	case h.size == 126 && len(p) >= 4:
		h.size, from = int(binary.BigEndian.Uint16(p[2:])), 4
	case h.size == 127 && len(p) >= 10:
		h.size, from = int(binary.BigEndian.Uint64(p[2:])&(1<<40-1)), 10
	case h.size >= 126:
		return h, nil
	}
	if len(p) < from+4 {
		return h, nil
	}
	copy(h.mask[:], p[from:])
	h.from = from + 4
	return h, nil
}

func (s *webSocket) say(_ uint32, m []byte, _ map[string]string) ([]byte, error) {
	head := []byte{0x81}
	switch n := len(m); {
	case n < 126:
		head = append(head, byte(n))
	case n < 1<<16:
		head = binary.BigEndian.AppendUint16(append(head, 126), uint16(n))
	default:
		head = binary.BigEndian.AppendUint64(append(head, 127), uint64(n))
	}
	return append(head, m...), nil
}

// sampler is an instance of the guest that shows how a message looks when it is sent. It
// is safe for concurrent use.
type sampler struct {
	mu     sync.Mutex
	stage  *harness
	server *sampleServer
	known  map[string][]byte
}

// sampleServer is a server that records what is written, and sends no messages. It
// answers what the profile has an answer for.
type sampleServer struct {
	*pipeServer
	written []byte
	last    *stream
}

func (p *sampleServer) opened(s *stream) error {
	if s.kind == abi.OpenHTTP && !s.is(abi.Upgrade) {
		return nil
	}
	return p.pipeServer.opened(s)
}

func (p *sampleServer) wrote(s *stream) error {
	for len(s.heard) > 0 && p.answered(s) {
	}
	if len(s.heard) > 0 {
		p.written, p.last = append(p.written, s.heard...), s
	}
	s.heard = nil
	return nil
}

// takes returns what the guest wrote to send a message, and tells it that the server has
// the message.
func (p *sampleServer) takes(exchange uint32, message string) ([]byte, error) {
	p.written = nil
	if err := p.stage.send(exchange, message); err != nil {
		return nil, err
	}
	frame := bytes.Clone(p.written)
	if len(frame) == 0 {
		return nil, errors.New("the guest wrote nothing when it was to send a message")
	}
	p.taken(p.last, nil)
	return frame, p.stage.pump()
}

// sampleWire is the wire of a sampleServer.
type sampleWire struct {
	profile *Profile
	made    *sampleServer
}

func (s *sampleWire) name() string  { return "unknown" }
func (s *sampleWire) class() string { return "stream" }

func (s *sampleWire) serve(g *harness) server {
	s.made = &sampleServer{pipeServer: newPipeServer(g, nil, s.profile)}
	return s.made
}

// frame returns what the guest writes when it sends a message. It has the guest send each
// message once.
func (t *sampler) frame(message string) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if frame, ok := t.known[message]; ok {
		return frame, nil
	}
	frame, err := t.server.takes(t.stage.exchange+1, message)
	if err != nil {
		return nil, fmt.Errorf("to learn how a message is framed: %w", err)
	}
	if len(t.known) < 1<<10 {
		t.known[message] = frame
	}
	return frame, nil
}

var classes = map[abi.OpenKind]string{abi.OpenProcess: "process", abi.OpenStream: "stream", abi.OpenHTTP: "http"}
