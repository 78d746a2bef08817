// Package trace prints what passes through the layers of a host, for the eyes
// of the person who asked for it with WHARF_TRACE.
package trace

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// Layer is a place where one can look.
type Layer uint8

// The layers, from the top down.
const (
	RPC Layer = 1 << iota // every JSON-RPC message, both ways
	ABI                   // every event and host call of a guest
	IO                    // the bytes that guests and host pass each other
)

var layers = map[string]Layer{"rpc": RPC, "abi": ABI, "io": IO}

// Tracer writes lines for the layers that are on. A nil Tracer is off. It may
// be used from any goroutine.
type Tracer struct {
	on    Layer
	known redact.Set
	mu    sync.Mutex
	w     io.Writer
}

// Parse makes a tracer from a comma-separated list of layers: "rpc,abi". An
// empty list is no tracer at all.
func Parse(list string, w io.Writer) (*Tracer, error) {
	t := &Tracer{w: w}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		l, ok := layers[name]
		if !ok {
			return nil, fmt.Errorf("trace layer %q: expected rpc, abi or io", name)
		}
		t.on |= l
	}
	if t.on == 0 {
		return nil, nil
	}
	return t, nil
}

// On reports whether the layer is traced.
func (t *Tracer) On(l Layer) bool { return t != nil && t.on&l != 0 }

// Hide is [Recorder.Hide].
func (t *Tracer) Hide(texts ...string) {
	if t != nil && len(texts) > 0 {
		t.known.Hide(texts...)
	}
}

// HideNamed is [Recorder.HideNamed].
func (t *Tracer) HideNamed(texts ...string) {
	if t != nil && len(texts) > 0 {
		t.known.HideNamed(texts...)
	}
}

// payloadCap is how much of a payload is printed.
const payloadCap = 2 << 10

// ABI returns a tracer of one guest's calls, or nil if nobody looks.
func (t *Tracer) ABI(server string) func(line, payload []byte) {
	if !t.On(ABI) && !t.On(IO) {
		return nil
	}
	streams := make(map[string]*redact.Stream)
	return func(line, payload []byte) {
		out := append([]byte("["+server+"] "), t.known.Cover(discreet(line))...)
		out = append(out, '\n')
		if t.On(IO) && len(payload) > 0 {
			out = append(out, "    | "...)
			out = strconv.AppendQuote(out, string(t.piece(streams, line, payload)))
			out = append(out, '\n')
		}
		t.write(out)
	}
}

const (
	maxStreams = 64      // of a guest, that are remembered for secrets that lie in two of their pieces
	carried    = 8 << 10 // bytes at the end of a piece that count for the next
)

// piece returns what is printed of a payload: its beginning, without secrets. Each
// stream of a guest is one text, in as many pieces.
func (t *Tracer) piece(streams map[string]*redact.Stream, line, payload []byte) []byte {
	key := streamOf(line)
	s := streams[key]
	if s == nil {
		if len(streams) >= maxStreams {
			clear(streams)
		}
		s = t.known.Stream()
		streams[key] = s
	}
	shown := payload[:min(len(payload), payloadCap)]
	rest := payload[len(shown):]
	out := s.Cover(shown)
	s.Hidden(rest[max(0, len(rest)-carried):])
	return out
}

// streamOf is what the line of an event or a call says of the stream that its payload
// belongs to: the kind and the number, "--> event(DATA, 257" or "<-- write(257".
func streamOf(line []byte) string {
	end := bytes.IndexByte(line, ',')
	if next := bytes.IndexByte(line[end+1:], ','); end >= 0 && next >= 0 && bytes.HasPrefix(line, []byte("--> event(")) {
		end += 1 + next
	}
	return string(line[:max(end, 0)])
}

// RPC returns a tracer of one connection's messages, or nil if nobody looks.
// sent says which way a message went.
func (t *Tracer) RPC(server string) func(sent bool, message []byte) {
	if !t.On(RPC) {
		return nil
	}
	return func(sent bool, message []byte) {
		arrow := " <- "
		if sent {
			arrow = " -> "
		}
		t.write([]byte("[" + server + "]" + arrow + t.shown(message) + "\n"))
	}
}

// Dropped returns a tracer of inbound messages that came to nothing, or nil if
// nobody looks.
func (t *Tracer) Dropped(server string) func(why error, message []byte) {
	if !t.On(RPC) {
		return nil
	}
	return func(why error, message []byte) {
		t.write([]byte("[" + server + "] dropped: " + t.shown([]byte(why.Error())) + ": " + t.shown(message) + "\n"))
	}
}

// shown returns a message as part of a line, or its beginning, without secrets. What a server
// says must neither begin a line of its own nor steer the terminal, so nothing
// that is not to be seen is left as it was.
func (t *Tracer) shown(message []byte) string {
	var begin []byte
	if len(message) > payloadCap {
		begin = t.known.CoverCut(message[:payloadCap])
	} else {
		begin = t.known.Cover(message)
	}
	text := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return unicode.ReplacementChar
	}, string(begin))
	if len(message) > payloadCap {
		text += fmt.Sprintf("… (%d bytes)", len(message))
	}
	return text
}

// What identifies a session is as good as a password: its header, and the query
// of a target, where HTTP+SSE has it.
var (
	sessionHeader = regexp.MustCompile(`"mcp-session-id: (?:[^"\\]|\\.)*"`)
	targetQuery   = regexp.MustCompile(`([A-Z] "(?:[^"\\?]|\\.)*\?)(?:[^"\\]|\\.)*"`)
)

// discreet returns the line of an event or host call without such secrets. The
// IO layer shows bytes, and bytes are what was asked for: of them only the secrets
// of the configuration are hidden.
func discreet(line []byte) []byte {
	if !bytes.HasPrefix(line, []byte("<-- open(")) {
		return line
	}
	line = targetQuery.ReplaceAll(line, []byte(`$1…"`))
	return sessionHeader.ReplaceAll(line, []byte(`"mcp-session-id: …"`))
}

func (t *Tracer) write(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.w.Write(p) // a trace that cannot be written is no reason to stop
}
