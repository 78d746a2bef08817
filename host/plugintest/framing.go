package plugintest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// framing puts messages into a byte stream and takes them out. It has no state.
type framing interface {
	name() string

	// hear takes one frame off the beginning of p.
	hear(g *harness, p []byte) (frame, error)

	// say frames a message of the server. values are settings, and values that the rules of a
	// profile have found. If the message is an answer, answers has the values from the frame
	// of the message that it answers; else it is nil.
	say(message []byte, values, answers map[string]string) ([]byte, error)
}

// frame is a message with everything that frames it.
type frame struct {
	message []byte            // nil if the frame is not a message
	size    int               // of the frame in bytes; 0 if it is not whole yet
	found   map[string]string // by the groups of a profile
}

// framings are the framings that the kit knows, in the order in which it tries them.
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

// ndjson puts each message on a line of its own.
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

// contentLength puts a header with the length before each message.
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

// webSocket is WebSocket (RFC 6455), in which a client masks all that it sends.
type webSocket struct{}

func (webSocket) name() string { return "websocket" }

var errUnmasked = errors.New("the guest sent a WebSocket frame that is not masked")

// hear takes a ping, a pong or a close, or all the fragments of a message, with the control
// frames between them.
func (webSocket) hear(_ *harness, p []byte) (frame, error) {
	message := []byte{}
	for at := 0; ; {
		head := p[at:]
		if len(head) < 2 {
			return frame{}, nil
		}
		if head[1]&0x80 == 0 {
			return frame{}, errUnmasked
		}
		from, size := 2, int(head[1]&0x7f)
		switch {
		case size == 126 && len(head) >= 4:
			from, size = 4, int(binary.BigEndian.Uint16(head[2:]))
		case size == 127 && len(head) >= 10:
			from, size = 10, int(binary.BigEndian.Uint64(head[2:])&(1<<40-1))
		case size >= 126:
			return frame{}, nil
		}
		const maskSize = 4
		if len(head) < from+maskSize+size {
			return frame{}, nil
		}
		mask, payload := head[from:from+maskSize], head[from+maskSize:from+maskSize+size]
		isControl, isFirst := head[0]&8 != 0, at == 0
		at += from + maskSize + size
		switch {
		case isControl && isFirst:
			return frame{size: at}, nil
		case isControl:
			continue
		}
		for i, c := range payload {
			message = append(message, c^mask[i%maskSize])
		}
		if isLast := head[0]&0x80 != 0; isLast {
			return frame{message: message, size: at}, nil
		}
	}
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
