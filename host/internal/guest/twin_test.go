package guest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// These are the plugins in C; stdioPackage and httpPackage are their twins in Go.
const (
	shippedStdio = "../../../plugins/stdio/stdio.wasm"
	shippedHTTP  = "../../../plugins/http/http.wasm"
)

// FuzzTwins has both twins read what a server writes, cut into chunks, and send a
// message after each. They do the same, host call by host call: so the framings of
// the SDK and those of the shipped plugin are held together, whatever comes.
func FuzzTwins(f *testing.F) {
	for _, framing := range []string{"", "ndjson", "content-length", "auto", "lsp", "Auto"} {
		for _, stream := range []string{
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n\n{}",
			"\xEF\xBB\xBF{\"a\":1}\n\xEF\xBB\n",
			"Content-Length: 2\r\n\r\n{}Content-Length: 3\n\n{} ",
			"Server ready.\n\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n{}",
			"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}content-length: 2\n\nx}",
			"Content-Type: a\r\n\r\nContent-Length: 9999999999\r\n\r\n\x80\xffé: \r\nContent-Length 7\n",
			" \t\r\n[]\n{\n",
			"{\"id\":1}\n{\"id\":2" + strings.Repeat(" ", 200) + "} \t",
			"{\"id\":1}\n{\"id\":2} half",
			"Content-Length: 40\r\n\r\n{\"id\":1} ",
			"Content-Length: 40\r\n\r\n{\"id\":",
			"!#$%&'*+-.^_`|~059AMZamz: x\r\ncontent-lengtH:2\r\n\r\n{}", // all that a name of a field may have
			"a" + strings.Join(strings.Split(" \"(),/;<=>?@[\\]{}\x7f\x80", ""), "b: x\r\nCONTENT-LENGTH: 2\r\n\r\n{}a") + "b: x\r\n\r\n",
			"Content-Length: 0\r\n\r\nContent-Length\r\nContent-Length:\r\nContent-Length: 2 \t\r\n\r\n{}",
			"\r\n\nContent-Length:\n\nContent-Length: 2\n\n{}",
			"Content-Length: 4\r\n\r\n{}\r\nContent-Length: 5\r\n\r\nx{}\n Content-Length: 2\r\n\r\n{}", // none of them, and one behind it, told of once
		} {
			f.Add(framing, []byte(stream), uint8(len(stream)%7))
		}
	}
	f.Fuzz(func(t *testing.T, framing string, stream []byte, cut uint8) {
		if !utf8.ValidString(framing) || len(framing) > 1<<10 || len(stream) > 4<<10 {
			return
		}
		shipped, other := twinTrace(t, shippedStdio, framing, stream, cut), twinTrace(t, stdioPackage, framing, stream, cut)
		for n := range max(len(shipped), len(other)) {
			if n >= len(shipped) || n >= len(other) || shipped[n].Line != other[n].Line || !bytes.Equal(shipped[n].Bytes, other[n].Bytes) {
				t.Fatalf("line %d: shipped %q, in Go %q", n, shipped[min(n, len(shipped)):], other[min(n, len(other)):])
			}
		}
	})
}

// objectInbox takes objects for answers, and all else for malformed messages.
func objectInbox() *inbox {
	box := newInbox()
	box.verdict = func(msg []byte) abi.Verdict {
		if bytes.HasPrefix(msg, []byte("{")) {
			return abi.VerdictAnswer
		}
		return abi.VerdictMalformed
	}
	return box
}

// twinTrace is what one of the twins does.
func twinTrace(t *testing.T, which, framing string, stream []byte, cut uint8) []sdktest.Entry {
	t.Helper()
	s, box := &stage{}, objectInbox()
	inst, err := New(t.Context(), Config{Plugin: "twin", Module: twin(t, which), Trace: s.trace, SingleThreaded: true})
	if err != nil {
		t.Fatal(err)
	}
	inst.host, inst.receiver, inst.timers = s, box, &fakeTimers{}
	defer inst.executor.Close()
	settings := &abi.Settings{Server: "twin", Values: []abi.Pair{{Key: "other", Value: "x"}, {Key: "framing", Value: framing}}, MessageCap: 1 << 20}
	inst.handleEvent(&item{kind: abi.EventOpen, payload: abi.AppendSettings(nil, settings)})
	if last := s.entries[len(s.entries)-1].Line; last != "--> = 0" {
		return s.entries // the connection did not open, so nothing comes
	}
	message := []byte("facts{}")
	for n := 0; len(stream) > 0; n++ {
		size := min(1+(n*int(cut+1))%97, len(stream))
		inst.handleEvent(&item{kind: abi.EventData, handle: 1, payload: slices.Clone(stream[:size])})
		inst.handleEvent(&item{kind: abi.EventMessage, handle: 5, arg: uint32(n + 1), payload: message, msg: &testMessage{exchange: uint32(n + 1), payload: message, start: 5}})
		stream = stream[size:]
	}
	inst.handleEvent(&item{kind: abi.EventEnd, handle: 1})
	inst.handleEvent(&item{kind: abi.EventClose})
	return s.entries
}

// twin returns one of two, loaded once.
func twin(t *testing.T, which string) *wasm.Module {
	t.Helper()
	if filepath.Ext(which) != ".wasm" {
		return module(t, which)
	}
	if m, ok := modules.Load(which); ok {
		return m.(*wasm.Module)
	}
	binary, err := os.ReadFile(which)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(t.Context(), filepath.Base(which), binary)
	if err != nil {
		t.Fatal(err)
	}
	modules.Store(which, m)
	return m
}
