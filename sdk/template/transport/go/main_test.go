//go:build !wasip1

package main

import (
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// stream is the handle of the first thing that a transport opens.
const stream = 1

// connected returns a fake host whose guest is connected. It runs natively: no
// sandbox, no server, and a debugger works.
func connected(t *testing.T) *sdktest.Host {
	t.Helper()
	h := sdktest.New(manifest, &transport{})
	if result := h.Open(&abi.Settings{Server: "loft", Grants: manifest.Grants}); result != 0 {
		t.Fatalf("OPEN = %d", result)
	}
	h.Event(abi.EventOpened, stream, 0, nil)
	if len(h.Reports) != 1 || h.Reports[0].What != abi.ReportUp {
		t.Fatalf("after OPENED: %v", h.Reports)
	}
	return h
}

// A message and its newline leave.
func TestSend(t *testing.T) {
	h := connected(t)
	const message = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if result := h.Message(1, &abi.Facts{Kind: abi.Request, ID: "1", Method: "ping"}, message); result != abi.HandedOver {
		t.Errorf("MESSAGE = %d", result)
	}
	if got := string(h.Written[stream]); got != message+"\n" {
		t.Errorf("written: %q", got)
	}
}

// However the stream is cut into chunks, the same messages are found in it. The
// last one lacks its newline.
func TestReceive(t *testing.T) {
	const (
		note   = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
		answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
		bytes  = note + "\n\n" + answer
	)
	for cut := range len(bytes) + 1 {
		h := connected(t)
		h.Data(stream, 0, []byte(bytes[:cut]))
		h.Data(stream, abi.Last, []byte(bytes[cut:]))
		if len(h.Delivered) != 2 || h.Delivered[0].Message != note || h.Delivered[1].Message != answer {
			t.Errorf("cut at %d: delivered %v", cut, h.Delivered)
		}
	}
}

// A closed connection closes its stream and says that it needs nothing more.
func TestClose(t *testing.T) {
	h := connected(t)
	h.Event(abi.EventClose, 0, 0, nil)
	if last := h.Reports[len(h.Reports)-1]; last.What != abi.ReportEnded {
		t.Errorf("after CLOSE: %v", h.Reports)
	}
}
