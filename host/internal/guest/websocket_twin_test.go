package guest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/abi"
)

// These are the two plugins for WebSocket: the one in C, which is published, and the
// example in Go that it is held to.
const (
	smallWebSocket   = "../../../examples/transport-websocket-c/websocket.wasm"
	websocketPackage = "../../../examples/transport-websocket"
)

// oneMask is randomness of which each mask is the same.
type oneMask struct{}

func (oneMask) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = "\x37\xfa\x21\x3d"[i%4]
	}
	return len(p), nil
}

// FuzzWebSocketTwins has both twins speak to a server that says anything: an answer to the
// upgrade, then frames that are cut anywhere, with messages between them, and the end. They
// do the same, host call by host call and text by text.
func FuzzWebSocketTwins(f *testing.F) {
	skipUnderRace(f)
	long := strings.Repeat("é", 400)
	for n, stream := range []string{
		"\x81\x02{}\x01\x01{\x89\x04tide\x80\x01}\x8a\x00",
		"\x81\x7e\x03\x20" + long, "\x81\x7f\x00\x00\x00\x00\x00\x00\x00\x02{}", "\x81\x7e\x00\x02{}", "\x81\x00\x81\x03\xe4\xb8\x96\x01\x01\xe4\x80\x02\xb8\x96",
		"\x88\x00", "\x88\x02\x03\xe8", "\x88\x0b\x03\xe9 bye  \x1b[2J", "\x88\x01\x03", "\x88\x02\x03\xed", "\x88\x03\x03\xe8\xff", "\x88\x04\x0b\xb8no\x81\x02{}", "\x88\x05\x0b\xc0\x00\xc2\xa0",
		"\x81\x82aaaaxx", "\xc1\x01x", "\x83\x01x", "\x8b\x01x", "\x89\x7e\x00\x7e", "\x09\x01x", "\x80\x01x", "\x01\x01x\x81\x01x", "\x82\x01x", "\x81\x02\xc0\xaf", "\x81\x03\xed\xa0\x80", "\x01\x02\"\xe4\x80\x01a",
	} {
		f.Add(uint16(101), "mcp", []byte(stream), uint8(n))
		f.Add(uint16(101), "", []byte(stream), uint8(200))
	}
	f.Add(uint16(101), "chat", []byte{}, uint8(1))
	f.Add(uint16(404), "", []byte("no such\n page\t\x00\xff…"), uint8(4))
	f.Add(uint16(200), "", []byte(strings.Repeat("a word ", 60)), uint8(9))
	f.Add(uint16(401), "", []byte(" é\u2028\U000e0001\xf0\x9f\x9a"), uint8(255))
	f.Fuzz(func(t *testing.T, status uint16, chosen string, stream []byte, cut uint8) {
		if len(chosen) > 60 || len(stream) > 2<<10 || !utf8.ValidString(chosen) {
			return
		}
		small, other := speakWebSocket(t, smallWebSocket, status, chosen, stream, cut), speakWebSocket(t, websocketPackage, status, chosen, stream, cut)
		for n := range max(len(small), len(other)) {
			if n >= len(small) || n >= len(other) || small[n] != other[n] {
				t.Fatalf("line %d: in C %.400q, in Go %.400q", n, small[min(n, len(small)-1)], other[min(n, len(other)-1)])
			}
		}
	})
}

// speakWebSocket is what one of the twins does.
func speakWebSocket(t *testing.T, which string, status uint16, chosen string, stream []byte, cut uint8) (lines []string) {
	t.Helper()
	s, box := &stage{}, objectInbox()
	inst, err := New(t.Context(), Config{Plugin: "twin", Module: twin(t, which), Trace: s.trace, SingleThreaded: true, Random: oneMask{}})
	if err != nil {
		t.Fatal(err)
	}
	timers := &fakeTimers{}
	inst.host, inst.receiver, inst.timers = s, box, timers
	defer inst.executor.Close()
	run := func(it item) {
		if inst.failure == nil {
			inst.handleEvent(&it)
		}
	}
	run(item{kind: abi.EventOpen, payload: abi.AppendSettings(nil, &abi.Settings{Server: "twin", Grants: []abi.Grant{{Kind: abi.OpenHTTP, Name: "main"}}, MessageCap: 1 << 20})})
	head := &abi.Head{Headers: []abi.Pair{{Key: "x", Value: "y"}}}
	if chosen != "" {
		head.Headers = append(head.Headers, abi.Pair{Key: "sec-websocket-protocol", Value: chosen})
	}
	run(item{kind: abi.EventHead, handle: 1, arg: uint32(status), payload: abi.AppendHead(nil, head)})
	for n := 0; len(stream) > 0; n++ {
		size := min(1+(n*int(cut+1))%97, len(stream))
		run(item{kind: abi.EventData, handle: 1, payload: slices.Clone(stream[:size])})
		message := []byte("facts" + strings.Repeat("m", n*int(cut)*7%40_000))
		if n%5 == 0 && n < 40 && inst.failure == nil && status == 101 {
			run(item{kind: abi.EventMessage, handle: 5, arg: uint32(n + 1), payload: message, msg: &testMessage{exchange: uint32(n + 1), payload: message, start: 5}})
		}
		stream = stream[size:]
		if n == 20 && cut%3 == 0 {
			run(item{kind: abi.EventClose})
		}
	}
	run(item{kind: abi.EventClose})
	run(item{kind: abi.EventData, handle: 1, payload: []byte("\x88\x02\x03\xe8\x81")})
	run(item{kind: abi.EventEnd, handle: 1})
	run(item{kind: abi.EventTimer, handle: 1})
	for _, e := range s.entries {
		if strings.HasPrefix(e.Line, "  <-- take(") { // how each looks at what comes is its own affair
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %q", e.Line, e.Bytes))
		if foreign := strings.ContainsFunc(string(e.Bytes), func(c rune) bool { return c >= utf8.RuneSelf }); foreign && strings.HasPrefix(e.Line, "  <-- report(FAILED") {
			// Which characters can be printed is a table of one version of Unicode in Go.
			line := e.Line[:strings.LastIndex(e.Line, ",")]
			lines[len(lines)-1] = line + " " + strings.Map(asciiOnly, string(e.Bytes))
		}
	}
	return lines
}

func asciiOnly(c rune) rune {
	if c > ' ' && c < utf8.RuneSelf {
		return c
	}
	return -1
}
