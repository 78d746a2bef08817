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

// framing is how messages stand in a byte stream. It has no state.
type framing interface {
	name() string

	// hear takes one frame off the beginning of p.
	hear(g *harness, p []byte) (frame, error)

	// say frames a message of the server. values are settings and what the rules of a
	// profile have found. answers is what was found in the frame of the message that it
	// answers, or nil if it answers none.
	say(message []byte, values, answers map[string]string) ([]byte, error)
}

// frame is a message with everything that frames it.
type frame struct {
	message []byte            // nil if the frame is not a message
	size    int               // of the frame in bytes; 0 if it is not whole yet
	found   map[string]string // by the groups of a profile
}

// framings are those that the kit knows by itself, in the order in which it tries them.
var framings = []framing{ndjson{}, contentLength{}, webSocket{}}

// framingNamed returns a framing that the kit knows, or nil.
func framingNamed(name string) framing {
	for _, f := range framings {
		if f.name() == name {
			return f
		}
	}
	return nil
}

// ndjson is a message a line.
type ndjson struct{}

func (ndjson) name() string { return "ndjson" }

func (ndjson) hear(_ *harness, p []byte) (frame, error) {
	i := bytes.IndexByte(p, '\n')
	if i < 0 {
		return frame{}, nil
	}
	return frame{message: bytes.TrimSuffix(p[:i], []byte("\r")), size: i + 1}, nil
}

func (ndjson) say(m []byte, _, _ map[string]string) ([]byte, error) {
	return append(bytes.Clone(m), '\n'), nil
}

// contentLength is a header with the length before each message.
type contentLength struct{}

func (contentLength) name() string { return "content-length" }

func (contentLength) hear(_ *harness, p []byte) (frame, error) {
	head, body, found := bytes.Cut(p, []byte("\r\n\r\n"))
	if !found {
		return frame{}, nil
	}
	size := -1
	for field := range strings.SplitSeq(string(head), "\r\n") {
		if name, value, _ := strings.Cut(field, ":"); strings.EqualFold(name, "content-length") {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil || n < 0 {
				return frame{}, fmt.Errorf("the guest wrote a Content-Length of %q", value)
			}
			size = n
		}
	}
	switch {
	case size < 0:
		return frame{}, fmt.Errorf("the guest wrote a header without Content-Length: %s", short(head))
	case len(body) < size:
		return frame{}, nil
	}
	return frame{message: body[:size], size: len(p) - len(body) + size}, nil
}

func (contentLength) say(m []byte, _, _ map[string]string) ([]byte, error) {
	return fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(m), m), nil
}

// learned is a framing that the kit takes from the guest: another instance sends the
// message that the server is to say, and the server says the same bytes. So it serves
// framings that are the same both ways and have no state.
type learned struct{ sampler *sampleServer }

func (l learned) name() string { return "learned from the guest" }

func (l learned) hear(g *harness, p []byte) (frame, error) {
	for n := uint32(1); n <= g.highest; n++ {
		x := g.of(n)
		if !x.unheard {
			continue
		}
		written, err := l.sampler.frame(x.sent)
		switch {
		case err != nil:
			return frame{}, err
		case bytes.HasPrefix(p, written):
			return frame{message: []byte(x.sent), size: len(written)}, nil
		case bytes.HasPrefix(written, p):
			return frame{}, nil
		}
	}
	return frame{}, fmt.Errorf("the guest wrote what it does not write for any message: %s", short(p))
}

func (l learned) say(m []byte, _, _ map[string]string) ([]byte, error) {
	return l.sampler.frame(string(m))
}

// webSocket is WebSocket (RFC 6455), of which a client masks what it sends.
type webSocket struct{}

func (webSocket) name() string { return "websocket" }

// hear takes a ping, a pong or a close, or all the fragments of a message, with the control
// frames between them.
func (webSocket) hear(_ *harness, p []byte) (frame, error) {
	message := []byte{}
	for at := 0; ; {
		h, err := readWebSocketHead(p[at:])
		if err != nil || h.from == 0 || len(p)-at-h.from < h.size {
			return frame{}, err
		}
		payload := p[at+h.from : at+h.from+h.size]
		at += h.from + h.size
		switch isControl := h.opcode >= 8; {
		case isControl && at == h.from+h.size:
			return frame{size: at}, nil
		case isControl:
			continue
		}
		for i, c := range payload {
			message = append(message, c^h.mask[i%4])
		}
		if h.fin {
			return frame{message: message, size: at}, nil
		}
	}
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

func (webSocket) say(m []byte, _, _ map[string]string) ([]byte, error) {
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

// sampleServer is the server of an instance of the guest that shows how a message looks
// when it is sent. It records what is written, and sends no messages. It answers what the
// profile has an answer for.
type sampleServer struct {
	*pipeServer
	written []byte
	last    *stream

	mu    sync.Mutex // of frame, which any goroutine may call
	known map[string][]byte
}

func (v *sampleServer) opened(s *stream) error {
	if s.kind == abi.OpenHTTP && !s.is(abi.Upgrade) {
		return nil
	}
	return v.pipeServer.opened(s)
}

func (v *sampleServer) wrote(s *stream) error {
	for len(s.heard) > 0 && v.answered(s) {
	}
	if len(s.heard) > 0 {
		v.written, v.last = append(v.written, s.heard...), s
	}
	s.heard = nil
	return nil
}

// takes returns what the guest wrote to send a message, and tells it that the server has
// the message.
func (v *sampleServer) takes(exchange uint32, message string) ([]byte, error) {
	v.written = nil
	if err := v.stage.send(exchange, message); err != nil {
		return nil, err
	}
	written := bytes.Clone(v.written)
	if len(written) == 0 {
		return nil, errors.New("the guest wrote nothing when it was to send a message")
	}
	v.taken(v.last, nil)
	return written, v.stage.pump()
}

// frame returns what the guest writes when it sends a message. It has the guest send each
// message once.
func (v *sampleServer) frame(message string) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if written, ok := v.known[message]; ok {
		return written, nil
	}
	written, err := v.takes(v.stage.highest+1, message)
	if err != nil {
		return nil, fmt.Errorf("to learn how a message is framed: %w", err)
	}
	if len(v.known) < 1<<10 {
		v.known[message] = written
	}
	return written, nil
}
