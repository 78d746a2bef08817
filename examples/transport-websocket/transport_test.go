//go:build !wasip1

package main

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// fresh returns a transport whose masks are those of the golden trace.
func fresh() sdk.Transport {
	return &transport{fill: func(key *[4]byte) { *key = [4]byte{0x37, 0xfa, 0x21, 0x3d} }}
}

func TestGolden(t *testing.T) {
	sdktest.Run(t, manifest, fresh(), sdktest.Read(t, "../../abi/testdata/traces/websocket.trace"))
}

// upgraded returns a host whose socket is open.
func upgraded(tb testing.TB) *sdktest.Host {
	tb.Helper()
	h := sdktest.New(manifest, fresh())
	if result := h.Open(&abi.Settings{}); result != 0 {
		tb.Fatalf("OPEN returned %d", result)
	}
	h.Event(abi.EventHead, 1, 101, abi.AppendHead(nil, &abi.Head{}))
	if len(h.Reports) != 1 || h.Reports[0].What != abi.ReportUp {
		tb.Fatalf("reported %+v", h.Reports)
	}
	return h
}

// frame is a frame of a server.
func frame(first byte, payload string) string {
	n := len(payload)
	switch {
	case n < 126:
		return string([]byte{first, byte(n)}) + payload
	case n < 1<<16:
		return string([]byte{first, 126, byte(n >> 8), byte(n)}) + payload
	}
	return string([]byte{first, 127, 0, 0, 0, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) + payload
}

func text(payload string) string { return frame(0x81, payload) }

// sent returns the frames that a client wrote, unmasked: the first byte in
// hexadecimal and the payload.
func sent(tb testing.TB, stream []byte) (frames []string) {
	tb.Helper()
	for len(stream) > 0 {
		if len(stream) < 6 || stream[1]&0x80 == 0 {
			tb.Fatalf("no masked frame: % x", stream)
		}
		n, at := int(stream[1]&0x7f), 2
		if n == 126 {
			n, at = int(stream[2])<<8|int(stream[3]), 4
		}
		key := [4]byte(stream[at:])
		body := append([]byte(nil), stream[at+4:at+4+n]...)
		for i := range body {
			body[i] ^= key[i%4]
		}
		frames = append(frames, string("0123456789abcdef"[stream[0]>>4])+string("0123456789abcdef"[stream[0]&15])+" "+string(body))
		stream = stream[at+4+n:]
	}
	return frames
}

const (
	one = `{"jsonrpc":"2.0","id":1,"result":{"text":"Grüße, 世界 🚢"}}`
	two = `{"jsonrpc":"2.0","method":"notifications/x"}`
)

// stream is what a server may send, and what must come of it however it is cut.
type stream struct {
	name string
	data string
	want []string // what is delivered
	sent []string // what is written
	fail string   // why the connection ends; empty if it does not
}

var streams = []stream{
	{name: "one", data: text(one), want: []string{one}},
	{name: "two", data: text(one) + text(two), want: []string{one, two}},
	{name: "empty message", data: text("") + text(two), want: []string{"", two}},
	{name: "fragments", data: frame(0x01, one[:10]) + frame(0x00, one[10:30]) + frame(0x80, one[30:]) + text(two), want: []string{one, two}},
	{name: "a fragment for each byte", data: bytewise(one), want: []string{one}},
	{name: "empty fragments", data: frame(0x01, "") + frame(0x00, one) + frame(0x80, ""), want: []string{one}},
	{name: "a long one", data: text(long), want: []string{long}},
	{name: "a longer one", data: text(longer) + text(two), want: []string{longer, two}},
	{name: "ping", data: frame(0x89, "tide") + text(one), want: []string{one}, sent: []string{"8a tide"}},
	{name: "ping without a word", data: frame(0x89, ""), sent: []string{"8a "}},
	{name: "the longest ping", data: frame(0x89, long[:125]), sent: []string{"8a " + long[:125]}},
	{name: "pings between fragments", data: frame(0x01, one[:5]) + frame(0x89, "a") + frame(0x00, one[5:9]) + frame(0x8a, "b") + frame(0x80, one[9:]),
		want: []string{one}, sent: []string{"8a a"}},
	{name: "pong", data: frame(0x8a, "not asked for") + text(one), want: []string{one}},
	{name: "no JSON", data: text("hello") + text(one), want: []string{"hello", one}},

	{name: "done", data: text(one) + frame(0x88, "\x03\xe8"), want: []string{one},
		sent: []string{"88 \x03\xe8"}, fail: "CLOSED: the server closed the WebSocket: 1000 (it is done)"},
	{name: "close and a reason", data: frame(0x88, "\x03\xe9bye\x1b[2J") + text(one),
		sent: []string{"88 \x03\xe9"}, fail: "CLOSED: the server closed the WebSocket: 1001 (it is going away): bye[2J"},
	{name: "close without a code", data: frame(0x88, ""), sent: []string{"88 "}, fail: "CLOSED: the server closed the WebSocket: it gave no reason"},
	{name: "policy", data: frame(0x88, "\x03\xf0"), sent: []string{"88 \x03\xf0"}, fail: "DENIED: the server closed the WebSocket: 1008 (against its policy)"},
	{name: "try again later", data: frame(0x88, "\x03\xf5"), sent: []string{"88 \x03\xf5"}, fail: "UNAVAILABLE: the server closed the WebSocket: 1013 (it asks to try again later)"},
	{name: "a code of its own", data: frame(0x88, "\x0f\xa0full"), sent: []string{"88 \x0f\xa0"}, fail: "CLOSED: the server closed the WebSocket: 4000: full"},
	{name: "half a code", data: frame(0x88, "\x03"), sent: []string{"88 \x03\xea"}, fail: "PROTOCOL: the server sent a close frame with half a code"},
	{name: "the code 1005", data: frame(0x88, "\x03\xed"), sent: []string{"88 \x03\xea"}, fail: "PROTOCOL: the server sent a close frame with the code 1005, which none may have"},
	{name: "the code 999", data: frame(0x88, "\x03\xe7"), sent: []string{"88 \x03\xea"}, fail: "PROTOCOL: the server sent a close frame with the code 999, which none may have"},
	{name: "a reason that is no text", data: frame(0x88, "\x03\xe8\xff"), sent: []string{"88 \x03\xef"}, fail: "PROTOCOL: the server sent a close frame whose reason is not UTF-8"},

	{name: "masked", data: "\x81\x82aaaaxx", sent: protocolError, fail: "PROTOCOL: the server sent a masked frame, which only clients do"},
	{name: "compressed", data: frame(0xc1, "x"), sent: protocolError, fail: "PROTOCOL: the server sent a frame with reserved bits, though no extension was agreed on"},
	{name: "reserved", data: frame(0x91, "x"), sent: protocolError, fail: "PROTOCOL: the server sent a frame with reserved bits, though no extension was agreed on"},
	{name: "unknown data", data: frame(0x83, "x"), sent: protocolError, fail: "PROTOCOL: the server sent a frame of an unknown kind"},
	{name: "unknown control", data: frame(0x8b, "x"), sent: protocolError, fail: "PROTOCOL: the server sent a frame of an unknown kind"},
	{name: "long ping", data: frame(0x89, long[:126]), sent: protocolError, fail: "PROTOCOL: the server sent a control frame of more than 125 bytes"},
	{name: "ping in fragments", data: frame(0x09, "x"), sent: protocolError, fail: "PROTOCOL: the server sent a control frame in fragments"},
	{name: "continuation of nothing", data: text(one) + frame(0x80, "x"), want: []string{one}, sent: protocolError, fail: "PROTOCOL: the server sent the continuation of no message"},
	{name: "interleaved", data: frame(0x01, "x") + text(one), sent: protocolError, fail: "PROTOCOL: the server sent a message before the one in fragments has ended"},
	{name: "a length too long by two", data: "\x81\x7e\x00\x02{}", sent: protocolError, fail: "PROTOCOL: the server sent a frame whose length is not written as it must be"},
	{name: "a length too long by eight", data: "\x81\x7f\x00\x00\x00\x00\x00\x00\xff\xff", sent: protocolError, fail: "PROTOCOL: the server sent a frame whose length is not written as it must be"},
	{name: "a length with a sign", data: "\x81\x7f\x80\x00\x00\x00\x00\x00\x00\x00", sent: protocolError, fail: "PROTOCOL: the server sent a frame whose length is not written as it must be"},
	{name: "binary", data: frame(0x82, one), sent: []string{"88 \x03\xeb"}, fail: "PROTOCOL: the server sent a binary message; MCP is text"},
	{name: "not UTF-8", data: text(one) + text("{\xff}"), want: []string{one}, sent: noText, fail: notUTF8},
	{name: "overlong", data: text("\xc0\xaf"), sent: noText, fail: notUTF8},
	{name: "a surrogate", data: text("\xed\xa0\x80"), sent: noText, fail: notUTF8},
	{name: "half a character", data: text("\"\xe4\xb8"), sent: noText, fail: notUTF8},
	{name: "half a character in fragments", data: frame(0x01, "\"\xe4") + frame(0x80, "\xb8"), sent: noText, fail: notUTF8},
	{name: "half a character and another", data: frame(0x01, "\"\xe4") + frame(0x80, "a"), sent: noText, fail: notUTF8},
}

const notUTF8 = "PROTOCOL: the server sent a text that is not UTF-8"

var (
	protocolError = []string{"88 \x03\xea"}
	noText        = []string{"88 \x03\xef"}

	long   = `"` + strings.Repeat("é", 400) + `"`
	longer = `"` + strings.Repeat("世", 30_000) + `"`
)

func bytewise(s string) string {
	var b strings.Builder
	for i := range len(s) {
		first := byte(0)
		if i == 0 {
			first = opText
		}
		if i == len(s)-1 {
			first |= final
		}
		b.WriteString(frame(first, s[i:i+1]))
	}
	return b.String()
}

// cut cuts a text into chunks of n bytes.
func cut(s string, n int) (chunks []string) {
	for ; len(s) > n; s = s[n:] {
		chunks = append(chunks, s[:n])
	}
	return append(chunks, s)
}

// check plays chunks and compares.
func (s *stream) check(t *testing.T, how string, chunks ...string) {
	t.Helper()
	h := upgraded(t)
	failed := ""
	for _, c := range chunks {
		if result := h.Data(1, 0, []byte(c)); h.Trap != "" {
			t.Fatalf("%s: trapped: %s", how, h.Trap)
		} else if result != 0 {
			r := h.Reports[len(h.Reports)-1]
			failed = r.Status.String() + ": " + r.Text
			break
		}
	}
	if got := delivered(h); !same(got, s.want) {
		t.Fatalf("%s: delivered %.200q\nwant %.200q", how, got, s.want)
	}
	if got := sent(t, h.Written[1]); !same(got, s.sent) {
		t.Fatalf("%s: wrote %q, want %q", how, got, s.sent)
	}
	if failed != s.fail {
		t.Fatalf("%s: ended with %q, want %q", how, failed, s.fail)
	}
}

func delivered(h *sdktest.Host) (messages []string) {
	for _, d := range h.Delivered {
		messages = append(messages, d.Message)
	}
	return messages
}

func same(a, b []string) bool {
	return strings.Join(a, "\x00|") == strings.Join(b, "\x00|") && len(a) == len(b)
}

func TestStreams(t *testing.T) {
	for _, s := range streams {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.check(t, "whole", s.data)
			s.check(t, "byte by byte", cut(s.data, 1)...)
			s.check(t, "a prime number of bytes at a time", cut(s.data, 4099)...)
			for i := 0; i < len(s.data); i += 1 + len(s.data)/500 {
				s.check(t, "cut", s.data[:i], s.data[i:])
			}
		})
	}
}
