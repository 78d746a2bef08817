//go:build !wasip1

package main

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// A message longer than a fragment goes out in several, each masked anew.
func TestMessagesOut(t *testing.T) {
	for _, tt := range []struct {
		size int
		want []string // first byte and length of each frame
	}{
		{0, []string{"81"}}, {125, []string{"81"}}, {126, []string{"81"}}, {fragment, []string{"81"}},
		{fragment + 1, []string{"01", "80"}}, {2 * fragment, []string{"01", "80"}}, {3*fragment - 1, []string{"01", "00", "80"}},
	} {
		keys := map[[4]byte]bool{}
		count := byte(0)
		h := sdktest.New(manifest, &transport{fill: func(key *[4]byte) {
			count++
			*key = [4]byte{count, 1, 2, 3}
			keys[*key] = true
		}})
		h.Open(&abi.Settings{})
		h.Event(abi.EventHead, 1, 101, abi.AppendHead(nil, &abi.Head{}))
		message := strings.Repeat("0123456789abcde", tt.size/15+1)[:tt.size]
		if result := h.Message(1, &abi.Facts{Kind: abi.Request}, message); result != abi.HandedOver {
			t.Errorf("%d bytes: MESSAGE returned %d", tt.size, result)
		}
		var whole, firsts strings.Builder
		for _, f := range sent(t, h.Written[1]) {
			firsts.WriteString(f[:2] + " ")
			whole.WriteString(f[3:])
		}
		if whole.String() != message || firsts.String() != strings.Join(tt.want, " ")+" " {
			t.Errorf("%d bytes: sent %s and %d bytes of payload", tt.size, firsts.String(), whole.Len())
		}
		if len(keys) != len(tt.want) {
			t.Errorf("%d bytes: %d masks for %d frames", tt.size, len(keys), len(tt.want))
		}
	}
}

func TestMessagesAfterTheEnd(t *testing.T) {
	h := upgraded(t)
	h.Event(abi.EventClose, 0, 0, nil)
	if result := h.Message(1, &abi.Facts{Kind: abi.Request}, "{}"); result != abi.Later {
		t.Errorf("MESSAGE after CLOSE returned %d", result)
	}
	if got := sent(t, h.Written[1]); len(got) != 1 {
		t.Errorf("a frame after the close frame: %q", got)
	}
	h.Data(1, 0, []byte(frame(0x89, "still there?")+text(one)))
	if got := sent(t, h.Written[1]); len(got) != 1 || len(h.Delivered) != 1 {
		t.Errorf("wrote %q, delivered %v", got, h.Delivered)
	}
}

// A server that breaks the rules while it is left is told nothing more.
func TestOneCloseFrame(t *testing.T) {
	h := upgraded(t)
	h.Event(abi.EventClose, 0, 0, nil)
	if result := h.Data(1, 0, []byte(frame(0x82, "x"))); result != int32(abi.ProtocolFailed) {
		t.Errorf("DATA returned %d", result)
	}
	if got := sent(t, h.Written[1]); !same(got, []string{"88 \x03\xe8"}) {
		t.Errorf("wrote %q", got)
	}
}

// However the close handshake goes, it ends, and once.
func TestEnds(t *testing.T) {
	for name, finish := range map[string]func(h *sdktest.Host){
		"close frame":           func(h *sdktest.Host) { h.Data(1, 0, []byte(frame(0x88, "\x03\xe8"))) },
		"close frame and end":   func(h *sdktest.Host) { h.Data(1, abi.Last, []byte(frame(0x88, "\x03\xe8"))) },
		"close frame and noise": func(h *sdktest.Host) { h.Data(1, 0, []byte(frame(0x88, "\x03\xe8")+strings.Repeat("\xff", 20))) },
		"close frame, noise": func(h *sdktest.Host) {
			h.Data(1, 0, []byte(frame(0x88, "")))
			h.Data(1, 0, []byte(strings.Repeat("\xff", 20)))
		},
		"end":                     func(h *sdktest.Host) { h.Event(abi.EventEnd, 1, 0, nil) },
		"end in a frame":          func(h *sdktest.Host) { h.Data(1, abi.Last, []byte("\x81\x05abc")) },
		"nothing":                 func(h *sdktest.Host) { h.Event(abi.EventTimer, farewell, 0, nil) },
		"nothing, then an end":    func(h *sdktest.Host) { h.Event(abi.EventTimer, farewell, 0, nil); h.Event(abi.EventEnd, 1, 0, nil) },
		"answers and then an end": func(h *sdktest.Host) { h.Data(1, 0, []byte(text(one))); h.Event(abi.EventEnd, 1, 0, nil) },
	} {
		h := upgraded(t)
		h.Event(abi.EventClose, 0, 0, nil)
		if h.Timers[farewell] != patience {
			t.Fatalf("%s: timers %v", name, h.Timers)
		}
		finish(h)
		if r := h.Reports[1:]; len(r) != 1 || r[0].What != abi.ReportEnded || len(h.Timers) != 0 {
			t.Errorf("%s: reported %+v, timers %v", name, r, h.Timers)
		}
	}
}

func TestCloseBeforeTheUpgrade(t *testing.T) {
	h := sdktest.New(manifest, fresh())
	h.Open(&abi.Settings{})
	h.Event(abi.EventClose, 0, 0, nil)
	if len(h.Written[1]) > 0 || len(h.Reports) != 1 || h.Reports[0].What != abi.ReportEnded {
		t.Errorf("wrote %q, reported %+v", h.Written[1], h.Reports)
	}
}

// An answer that is no upgrade is an error with what the server said.
func TestRefusals(t *testing.T) {
	page := strings.Repeat("word ", 100)
	for _, tt := range []struct {
		status uint32
		head   abi.Head
		body   string
		want   string
	}{
		{404, abi.Head{}, "no such\n page", "NOT_FOUND: no WebSocket here: expected HTTP 101, got HTTP 404: no such page"},
		{200, abi.Head{}, page, "PROTOCOL: no WebSocket here: expected HTTP 101, got HTTP 200: " + page[:199] + "…"},
		{426, abi.Head{}, "", "PROTOCOL: no WebSocket here: expected HTTP 101, got HTTP 426"},
		{503, abi.Head{}, "later", "UNAVAILABLE: no WebSocket here: expected HTTP 101, got HTTP 503: later"},
		{401, abi.Head{}, "", "UNAUTHORIZED: no WebSocket here: expected HTTP 101, got HTTP 401"},
		{403, abi.Head{}, "", "DENIED: no WebSocket here: expected HTTP 101, got HTTP 403"},
		{101, abi.Head{Headers: []abi.Pair{{Key: "sec-websocket-protocol", Value: "chat"}}}, "",
			`PROTOCOL: the server chose the subprotocol "chat", which was not offered; expected "mcp"`},
	} {
		for _, last := range []uint32{0, abi.HeadLast} {
			h := sdktest.New(manifest, fresh())
			h.Open(&abi.Settings{})
			block := abi.AppendHead(nil, &tt.head)
			if last == 0 {
				if h.Event(abi.EventHead, 1, tt.status, block); tt.status != 101 {
					h.Data(1, 0, []byte(tt.body))
				}
				if len(h.Reports) == 0 {
					h.Event(abi.EventEnd, 1, 0, nil)
				}
			} else {
				h.Event(abi.EventHead, 1, tt.status|last, append(block, tt.body...))
			}
			if len(h.Reports) != 1 || h.Reports[0].Status.String()+": "+h.Reports[0].Text != tt.want {
				t.Errorf("HTTP %d: %+v\nwant %s", tt.status, h.Reports, tt.want)
			}
		}
	}
}
