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
	on   Layer
	veil veil
	mu   sync.Mutex
	w    io.Writer
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

// Hide is [Recorder.Hide]. A secret that is cut by the end of a payload is not seen.
func (t *Tracer) Hide(texts ...string) {
	if t != nil && len(texts) > 0 {
		t.veil.add(leastSecret, texts...)
	}
}

// HideNamed is [Recorder.HideNamed].
func (t *Tracer) HideNamed(texts ...string) {
	if t != nil && len(texts) > 0 {
		t.veil.add(LeastNamed, texts...)
	}
}

// payloadCap is how much of a payload is printed.
const payloadCap = 2 << 10

// ABI returns a tracer of one guest's calls, or nil if nobody looks.
func (t *Tracer) ABI(server string) func(line, payload []byte) {
	if !t.On(ABI) && !t.On(IO) {
		return nil
	}
	return func(line, payload []byte) {
		out := append([]byte("["+server+"] "), discreet(line)...)
		out = append(out, '\n')
		if t.On(IO) && len(payload) > 0 {
			out = append(out, "    | "...)
			out = strconv.AppendQuote(out, string(payload[:min(len(payload), payloadCap)]))
			out = append(out, '\n')
		}
		t.write(out)
	}
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
		t.write([]byte("[" + server + "]" + arrow + shown(message) + "\n"))
	}
}

// Dropped returns a tracer of inbound messages that came to nothing, or nil if
// nobody looks.
func (t *Tracer) Dropped(server string) func(why error, message []byte) {
	if !t.On(RPC) {
		return nil
	}
	return func(why error, message []byte) {
		t.write([]byte("[" + server + "] dropped: " + shown([]byte(why.Error())) + ": " + shown(message) + "\n"))
	}
}

// shown returns a message as part of a line, or its beginning. What a server
// says must neither begin a line of its own nor steer the terminal, so nothing
// that is not to be seen is left as it was.
func shown(message []byte) string {
	text := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return unicode.ReplacementChar
	}, string(message[:min(len(message), payloadCap)]))
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
	p = t.veil.cover(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.w.Write(p) // a trace that cannot be written is no reason to stop
}
