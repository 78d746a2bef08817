package plugintest

import (
	"bytes"
	"encoding/binary"
	"hash"
	"slices"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// recording is the call trace of one run: all of it as a hash, the end of it as
// text, and what each event cost.
type recording struct {
	entries []sdktest.Entry
	dropped int
	sum     hash.Hash
	now     cost
	costs   []cost
	used    func() int64
	results map[uint32]string // of MESSAGE, by exchange
}

// cost is the cost of one event.
type cost struct {
	kind    string
	arg     string
	payload int
	calls   int
	fuel    int64
}

const (
	keptEntries = 600     // of the end of a trace
	keptBytes   = 2 << 10 // of a payload; a longer one is left out
	keptCosts   = 50_000
)

// line is the tracer of the instance.
func (r *recording) line(line, payload []byte) {
	r.note(line, payload)
	if len(r.entries) >= 2*keptEntries {
		r.entries = slices.Delete(r.entries, 0, keptEntries)
		r.dropped += keptEntries
	}
	if len(payload) > keptBytes {
		payload = nil
	}
	r.entries = append(r.entries, sdktest.Entry{Line: string(line), Bytes: bytes.Clone(payload)})
}

// note adds a line to the hash of the trace, and counts the event or the host call in it.
func (r *recording) note(line, payload []byte) {
	var size [8]byte
	binary.LittleEndian.PutUint64(size[:], uint64(len(payload)))
	r.sum.Write(line)
	r.sum.Write(size[:])
	r.sum.Write(payload)
	text := string(line[:min(len(line), 200)])
	switch {
	case strings.HasPrefix(text, "--> event("):
		args := strings.Split(strings.TrimSuffix(text[len("--> event("):], ")"), ", ")
		r.now = cost{kind: args[0], payload: len(payload)}
		if len(args) > 2 {
			r.now.arg = args[2]
		}
	case strings.HasPrefix(text, "  <-- "):
		r.now.calls++
	default:
		r.end(text)
	}
}

func (r *recording) end(text string) {
	if r.now.fuel = r.used(); len(r.costs) < keptCosts {
		r.costs = append(r.costs, r.now)
	}
	if result, ok := strings.CutPrefix(text, "--> = "); ok && r.now.kind == abi.EventMessage.String() {
		exchange, _ := strconv.ParseUint(r.now.arg, 10, 32) // the arg of a MESSAGE is a number
		r.results[uint32(exchange)] = result
	}
}

// trace returns the end of the trace, in the form of golden traces. It returns "" for a run that
// never began.
func (r *recording) trace() string {
	if r == nil {
		return ""
	}
	list := r.entries[max(0, len(r.entries)-keptEntries):]
	for len(list) > 0 && len(list) < r.dropped+len(r.entries) && !strings.HasPrefix(list[0].Line, "--> event(") {
		list = list[1:]
	}
	text := sdktest.Text(list)
	if n := r.dropped + len(r.entries) - len(list); n > 0 {
		text = "# … after other lines\n" + text
	}
	return text
}
