// Package trace shows the traffic between a host and its servers. A [Printer] prints it for a
// person, layer by layer. A [Recorder] writes every message to a file, which [Read] reads again.
// Both leave out secrets.
package trace

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/redact"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// layer is a part of a host whose traffic can be printed.
type layer uint8

// The layers, from the top down.
const (
	layerRPC layer = 1 << iota // every JSON-RPC message, in both directions
	layerABI                   // every event and host call of a plugin
	layerIO                    // the payloads of events and host calls
)

var layers = map[string]layer{"rpc": layerRPC, "abi": layerABI, "io": layerIO}

// Printer writes lines for some layers. A nil Printer prints nothing. It may be used from
// any goroutine.
type Printer struct {
	layers  layer // the layers that are printed
	secrets redact.Set
	mu      sync.Mutex
	w       io.Writer
}

// NewPrinter returns a printer to w for a list of layers ("rpc", "abi", "io", separated
// by commas). For an empty list it returns nil.
func NewPrinter(list string, w io.Writer) (*Printer, error) {
	p := &Printer{w: w}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		l, ok := layers[name]
		if !ok {
			return nil, fmt.Errorf("trace layer %q: expected rpc, abi or io", name)
		}
		p.layers |= l
	}
	if p.layers == 0 {
		return nil, nil
	}
	return p, nil
}

func (p *Printer) on(l layer) bool { return p != nil && p.layers&l != 0 }

// Secrets returns the texts that the printer leaves out. A host adds those of its
// servers. It is nil for a nil Printer.
func (p *Printer) Secrets() *redact.Set {
	if p == nil {
		return nil
	}
	return &p.secrets
}

// payloadCap is how much of a payload or message is printed, in bytes.
const payloadCap = 2 << 10

// ABI returns a function that prints the events and host calls of one connection. It returns nil
// if neither layer "abi" nor "io" is on. line is a line of a call trace, see package abi.
func (p *Printer) ABI(server string) func(line, payload []byte) {
	if !p.on(layerABI) && !p.on(layerIO) {
		return nil
	}
	streams := make(map[string]*redact.Stream)
	return func(line, payload []byte) {
		out := append([]byte("["+server+"] "), p.secrets.Redact(withoutSession(line))...)
		out = append(out, '\n')
		if p.on(layerIO) && len(payload) > 0 {
			out = append(out, "    | "...)
			out = strconv.AppendQuote(out, string(p.piece(streams, line, payload)))
			out = append(out, '\n')
		}
		p.write(out)
	}
}

const (
	maxStreams = 64      // streams of a guest in which a secret across two payloads is found
	carried    = 8 << 10 // bytes at the end of a payload that are searched together with the next payload
)

// piece returns the printed part of a payload: its beginning, without secrets. It also finds a
// secret that begins in one payload of a stream and ends in the next.
func (p *Printer) piece(streams map[string]*redact.Stream, line, payload []byte) []byte {
	key := streamOf(line)
	s := streams[key]
	if s == nil {
		if len(streams) >= maxStreams {
			clear(streams)
		}
		s = p.secrets.Stream()
		streams[key] = s
	}
	shown := payload[:min(len(payload), payloadCap)]
	rest := payload[len(shown):]
	out := s.Redact(shown)
	s.Spans(rest[max(0, len(rest)-carried):])
	return out
}

// streamOf returns the part of a line that identifies the stream of its payload by kind and
// number: "--> event(DATA, 257" or "<-- write(257".
func streamOf(line []byte) string {
	end := bytes.IndexByte(line, ',')
	if next := bytes.IndexByte(line[end+1:], ','); end >= 0 && next >= 0 && bytes.HasPrefix(line, []byte("--> event(")) {
		end += 1 + next
	}
	return string(line[:max(end, 0)])
}

// RPC returns a function that prints the messages of one connection. It returns nil if layer
// "rpc" is off. sent is true for messages of the host.
func (p *Printer) RPC(server string) func(sent bool, message []byte) {
	if !p.on(layerRPC) {
		return nil
	}
	return func(sent bool, message []byte) {
		arrow := " <- "
		if sent {
			arrow = " -> "
		}
		p.write([]byte("[" + server + "]" + arrow + p.shown(message) + "\n"))
	}
}

// Dropped returns a function that prints received messages that were discarded. It returns nil
// if layer "rpc" is off.
func (p *Printer) Dropped(server string) func(why error, message []byte) {
	if !p.on(layerRPC) {
		return nil
	}
	return func(why error, message []byte) {
		p.write([]byte("[" + server + "] dropped: " + p.shown([]byte(why.Error())) + ": " + p.shown(message) + "\n"))
	}
}

// shown returns a message, or its beginning, without secrets, as part of a line. Only printable
// characters stay, so that a server can neither begin a line nor steer the terminal.
func (p *Printer) shown(message []byte) string {
	var begin []byte
	if len(message) > payloadCap {
		begin = p.secrets.RedactCut(message[:payloadCap])
	} else {
		begin = p.secrets.Redact(message)
	}
	text := cleantext.Mask(string(begin))
	if len(message) > payloadCap {
		text += fmt.Sprintf("… (%d bytes)", len(message))
	}
	return text
}

// A session identifier is as good as a password. It is in a header, and with HTTP+SSE in
// the query of a target.
var (
	sessionHeader = lazyregexp.New(`"mcp-session-id: (?:[^"\\]|\\.)*"`)
	targetQuery   = lazyregexp.New(`([A-Z] "(?:[^"\\?]|\\.)*\?)(?:[^"\\]|\\.)*"`)
)

// withoutSession removes session identifiers from the line of an open, and returns any other
// line unchanged. Layer "io" does not use it: that prints whole payloads, without secrets of the
// configuration.
func withoutSession(line []byte) []byte {
	if !bytes.HasPrefix(line, []byte("<-- open(")) {
		return line
	}
	line = targetQuery.ReplaceAll(line, []byte(`$1…"`))
	return sessionHeader.ReplaceAll(line, []byte(`"mcp-session-id: …"`))
}

func (p *Printer) write(line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.w.Write(line) // a failing trace must not stop the host
}
