//go:build !wasip1

package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// FuzzServer holds the reader against one that has all of the stream at once.
// How it is cut must make no difference, and what is well-formed is delivered.
func FuzzServer(f *testing.F) {
	for _, s := range streams {
		if len(s.data) > 4<<10 {
			continue // only slow
		}
		f.Add([]byte(s.data), 1)
		f.Add([]byte(s.data), 7)
	}
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		want, failed := reference(string(data))
		h := upgraded(t)
		result := int32(0)
		for _, c := range cut(string(data), max(1, size&0xffff)) {
			if result = h.Data(1, 0, []byte(c)); result != 0 {
				break
			}
		}
		if h.Trap != "" || (result != 0) != failed || !same(delivered(h), want) {
			t.Fatalf("DATA returned %d %s, delivered %q\nwant %v, %q", result, h.Trap, delivered(h), failed, want)
		}
		for _, d := range h.Delivered {
			if !utf8.ValidString(d.Message) {
				t.Fatalf("delivered %q", d.Message)
			}
		}
		sent(t, h.Written[1])
	})
}

// reference reads a stream in the plainest way: the messages, and whether it
// fails (a close frame is a failure as well).
func reference(s string) (messages []string, failed bool) {
	message, begun := "", false
	for {
		if len(s) < 2 {
			return messages, false
		}
		first, n, rest := s[0], uint64(s[1]), s[2:]
		if extra := map[uint64]int{126: 2, 127: 8}[n&0x7f]; extra > 0 {
			if len(rest) < extra {
				return messages, false
			}
			n &= 0x80
			for _, c := range []byte(rest[:extra]) {
				n = n<<8 | uint64(c)
			}
			if extra == 2 && n&0xffff < 126 || extra == 8 && n < 1<<16 || s[1]&0x80 != 0 || n >= 1<<63 {
				return messages, true
			}
			rest = rest[extra:]
		}
		op := first & 0xf
		legal := map[byte]bool{0: begun, 1: !begun, 8: true, 9: true, 10: true}[op]
		if !legal || first&0x70 != 0 || n > 125 && (s[1]&0x80 != 0 || op >= 8) || op >= 8 && first&0x80 == 0 {
			return messages, true
		}
		part := rest[:min(n, uint64(len(rest)))]
		if op < 8 && broken(message+part) {
			return messages, true
		}
		if uint64(len(rest)) < n {
			return messages, false
		}
		s = rest[n:]
		switch {
		case op == 8:
			return messages, true
		case op > 8:
		case first&0x80 != 0:
			if message += part; !utf8.ValidString(message) {
				return messages, true
			}
			messages, message, begun = append(messages, message), "", false
		default:
			message, begun = message+part, true
		}
	}
}

// broken reports whether no continuation makes s UTF-8.
func broken(s string) bool {
	for len(s) > 0 {
		c, size := utf8.DecodeRuneInString(s)
		if c == utf8.RuneError && size == 1 {
			return utf8.FullRuneInString(s)
		}
		s = s[size:]
	}
	return false
}

// quiet is a host that keeps nothing.
type quiet struct{ payload []byte }

func (q *quiet) Call(op abi.Call, a [4]uint32, data []byte) int32 {
	switch op {
	case abi.CallTake:
		return int32(copy(data, q.payload[a[0]:]))
	case abi.CallOpen:
		return 257
	}
	return 0
}

// A guest that makes no garbage stays as small as it began.
func TestNothingIsAllocatedPerMessage(t *testing.T) {
	q := &quiet{}
	g := sdk.NewGuest(manifest, fresh(), q)
	event := func(kind abi.Kind, handle, arg uint32, payload string) {
		q.payload = append(q.payload[:0], payload...)
		g.Event(kind, handle, arg, uint32(len(payload)))
	}
	event(abi.EventOpen, 0, 0, string(abi.AppendSettings(nil, &abi.Settings{})))
	event(abi.EventHead, 257, 101, string(abi.AppendHead(nil, &abi.Head{})))
	facts := string(abi.AppendFacts(nil, &abi.Facts{Kind: abi.Request, ID: "1"}))
	out, in := facts+strings.Repeat("m", 3*fragment), text(one)+frame(0x89, "tide")+frame(1, longer[:1000])+frame(0x80, longer[1000:])
	allocs := testing.AllocsPerRun(100, func() {
		event(abi.EventMessage, uint32(len(facts)), 1, out)
		event(abi.EventData, 257, 0, in)
	})
	if allocs > 0 {
		t.Errorf("%v allocations per message", allocs)
	}
}
