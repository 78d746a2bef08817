package control

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/ctxcond"
)

// Bounds of the events that are kept for editors that come later or read slowly.
const (
	maxEvents     = 1000
	maxEventBytes = 4 << 20
	maxLogBytes   = 64 << 10 // of one log message; a longer one is told without its data
)

// eventLog has the newest events of a run. Each editor reads it at its own pace: one that reads
// nothing delays no other.
type eventLog struct {
	generation string

	mu    sync.Mutex
	kept  []keptEvent // the newest events
	bytes int         // of their texts
	last  uint64      // the number of the newest event
	more  ctxcond.Cond
}

// keptEvent is an event, encoded, and what tail looks for.
type keptEvent struct {
	text   []byte
	server string
	kind   EventKind
}

func newEventLog() *eventLog { return &eventLog{generation: rand.Text()} }

// add numbers an event and keeps it. It returns at once.
func (l *eventLog) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.Number, e.At = l.last, time.Now()
	text := encodeEvent(e)
	l.kept = append(l.kept, keptEvent{text, e.Server, e.Kind})
	l.bytes += len(text)
	for len(l.kept) > maxEvents || l.bytes > maxEventBytes && len(l.kept) > 1 {
		l.bytes -= len(l.kept[0].text)
		l.kept[0] = keptEvent{}
		l.kept = l.kept[1:]
	}
	l.more.Broadcast()
}

// position returns where the log ends.
func (l *eventLog) position() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Position{l.generation, l.last}
}

// next waits for an event behind the one with a number, and returns it with its own number. If that
// event is not kept any more, next returns a gap that ends before the oldest that is.
func (l *eventLog) next(ctx context.Context, after uint64) (text []byte, number uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for after >= l.last {
		if err := l.more.Await(ctx, &l.mu); err != nil {
			return nil, 0, err
		}
	}
	oldest := l.last - uint64(len(l.kept)) + 1
	if after+1 < oldest {
		return encodeEvent(Event{Number: oldest - 1, At: time.Now(), Kind: Gap, Missed: oldest - 1 - after}), oldest - 1, nil
	}
	return l.kept[after+1-oldest].text, after + 1, nil
}

// tail returns the newest n events that are wanted, the oldest first.
func (l *eventLog) tail(n int, wanted func(server string, kind EventKind) bool) []json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := []json.RawMessage{}
	for _, e := range slices.Backward(l.kept) {
		if len(found) < n && wanted(e.server, e.kind) {
			found = append(found, e.text)
		}
	}
	slices.Reverse(found)
	return found
}

// start returns the number after which an editor is told events, and a gap if the editor has seen
// those of another run: of these it may have missed any number.
func (l *eventLog) start(p SinceParams) (after uint64, gap []byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch oldest := l.last - uint64(len(l.kept)) + 1; {
	case p.Number == nil:
		return l.last, nil, nil
	case p.Generation != l.generation && p.Generation != "":
		return oldest - 1, encodeEvent(Event{Number: oldest - 1, At: time.Now(), Kind: Gap}), nil
	case *p.Number > l.last:
		return 0, nil, invalid(KindFutureEvent, "take number from an event of this generation, or leave it out to hear what is new",
			"events/since: there is no event %d yet, the newest is %d", *p.Number, l.last)
	}
	return *p.Number, nil, nil
}

// encodeEvent returns an event as JSON. A log message that is too long, or no JSON, is left out of it.
func encodeEvent(e Event) []byte {
	if len(e.Log) > maxLogBytes {
		e.Log, e.Text = nil, fmt.Sprintf("a log message of %d bytes, which is too long to be passed on", len(e.Log))
	}
	text, err := encode(e)
	if err != nil {
		e.Log = nil
		text, _ = encode(e)
	}
	return text
}

// encode returns the JSON of a value of the protocol on one line. What a server wrote keeps its bytes,
// but for white space.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
