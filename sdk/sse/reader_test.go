//go:build !wasip1

package sse_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
	"github.com/wharf-mcp/wharf/sdk/sse"
)

// ear is the smallest transport around a reader.
type ear struct {
	reader sse.Reader
	events []event
}

func (r *ear) Open(*sdk.Conn, *abi.Settings) error      { return nil }
func (r *ear) Message(sdk.Message) (sdk.Outcome, error) { return sdk.HandedOver, nil }

// Handle notes every event. Of one that is no message the copy is noted, in
// place of what the host has of a message.
func (r *ear) Handle(e sdk.Event) error {
	if e.Kind == abi.EventEnd {
		r.reader.Restart(e.Conn())
		return nil
	}
	for p, ok := e.Payload, false; p.Len() > 0; {
		if p, ok = r.reader.Next(p); !ok {
			break
		}
		seen := event{id: string(r.reader.ID())}
		if !r.reader.Named("") && !r.reader.Named("message") {
			kept, _ := r.reader.Kept()
			seen.name, seen.data = "other", string(kept)
		}
		r.events = append(r.events, seen)
	}
	return nil
}

// hear feeds a stream to a reader in chunks and returns what it emits.
func hear(tb testing.TB, keep int, chunks ...string) (got []event, messages []string, r *sse.Reader) {
	tb.Helper()
	t := &ear{reader: sse.Reader{Keep: keep}}
	h := sdktest.New(abi.Manifest{}, t)
	h.Verdict = func(uint32, []byte) abi.Verdict { return abi.VerdictNote }
	h.Open(&abi.Settings{})
	for _, c := range chunks {
		if h.Data(1, 0, []byte(c)); h.Trap != "" {
			tb.Fatalf("trapped: %s\n%s", h.Trap, sdktest.Text(h.Entries()))
		}
	}
	for _, d := range h.Delivered {
		messages = append(messages, packed(d.Message))
	}
	return t.events, messages, &t.reader
}

// expect compares what a reader made of a stream with the reference.
func expect(tb testing.TB, stream string, chunks ...string) {
	tb.Helper()
	got, messages, r := hear(tb, 1<<16, chunks...)
	events, retry := reference([]byte(stream))
	var want []event
	var wantMessages []string
	for _, e := range events {
		switch e.name {
		case "", "message":
			if lines := strings.ReplaceAll(e.data, "\n", ""); lines != "" {
				wantMessages = append(wantMessages, packed(e.data))
			}
			e.name, e.data = "", ""
		default:
			e.name = "other"
		}
		want = append(want, e)
	}
	for i := range got { // data before "event: x" but after "event: message" are not kept
		if i < len(want) && got[i].name != "" && strings.Contains(stream, "message") {
			got[i].data, want[i].data = "", ""
		}
	}
	if !slices.Equal(got, want) || !slices.Equal(messages, wantMessages) || r.Retry() != retry {
		tb.Fatalf("stream %q\nin %d chunks\n got %q %q %d\nwant %q %q %d", stream, len(chunks),
			got, messages, r.Retry(), want, wantMessages, retry)
	}
}

// streams are what the grammar has in it.
var streams = []string{
	"",
	"data: 1\n\n",
	"data:1\r\rdata:2\r\n\r\ndata: 3\n\r\n",
	"data: 1\r\n\r\n\r\n\ndata: 2\n\n",
	"\uFEFFdata: 1\n\n",
	"\uFEFF\uFEFFdata: 1\n\ndata: 2\n\n",
	"\xEFdata: 1\n\ndata: 2\n\n",
	"\xEF\xBBdata: 1\n\ndata: 2\n\n",
	": comment\n\n:\n\ndata: 1\n: inside\n\n",
	"data\n\ndata\ndata\n\n",
	"data:  two spaces\n\n",
	"data: a\ndata: b\ndata:\ndata:c\n\n",
	"data:\ndata: late\n\n",
	"event: ping\ndata: 1\n\ndata: 2\n\n",
	"data: 1\nevent: ping\n\ndata: 2\n\n",
	"event: a\nevent: message\ndata: 1\n\n",
	"event: a\nevent\ndata: 1\n\n",
	"event: endpoint\ndata: /messages?a=b:c\n\n",
	"event: endpoint\r\ndata: /m\r\n\r\n",
	"event: parts\ndata: a\ndata:\ndata: b\n\n",
	"event: messages\ndata: 1\n\n",
	"id: 1\ndata: a\n\nid: 2\n\ndata: b\n\nid\n\nid: 3",
	"id: 1\n\nid: a\x00b\n\nid: \xFF\n\nid: a\tb\n\n",
	"id: " + strings.Repeat("x", 1024) + "\n\nid: " + strings.Repeat("y", 1025) + "\n\n",
	"retry: 10\n\nretry: x\nretry: 1.5\nretry: -1\nretry: +1\nretry:\n\n",
	"retry: 0\n\n",
	"retry: 99999999999999999999999999\n\n",
	"dat: 1\ndatas: 2\nDATA: 3\n data: 4\ndata : 5\n\ndata: 6\n\n",
	"longer-than-any-field: 1\n\ndata: 2\n\n",
	"id: 1\r\n\ndata: 2\n\n\r\n\nid: 3\r\n\r\n",
	"data: a\r\ndata: b\r\n\r\ndata: c\rdata: d\r\r",
	"data: a\r\n: " + strings.Repeat("c", 2000) + "\r\ndata: b\r\n\r\n",
	"data: a\n:" + strings.Repeat("c", 1100) + "\ndata: b\n\n",
	"event: " + strings.Repeat("e", 2000) + "\ndata: a\n\ndata: b\n\n",
	"data: not ended\n",
	"data: 1\n\ndata: cut",
	`event: message` + "\n" + `data: {"jsonrpc":"2.0","id":1,"result":{"text":"` + strings.Repeat("long ", 100) + `"}}` + "\n\n",
	"data: " + strings.Repeat("x", 127) + "\n\ndata: " + strings.Repeat("y", 128) + "\n\n",
}

func TestStreamsInOneAndByteByByte(t *testing.T) {
	for _, s := range streams {
		expect(t, s, s)
		expect(t, s, strings.Split(s, "")...)
		var singles []string
		for i := range len(s) {
			singles = append(singles, s[i:i+1])
		}
		expect(t, s, singles...)
	}
}

// Wherever a stream is cut in two, the same events come out.
func TestEveryCut(t *testing.T) {
	for _, s := range streams {
		for i := 0; i < len(s); i += 1 + len(s)/400 { // every one of a short stream
			expect(t, s, s[:i], s[i:])
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range streams {
		f.Add([]byte(s), []byte{1, 7, 30})
	}
	f.Fuzz(func(t *testing.T, stream, cuts []byte) {
		if len(stream) > 1<<12 {
			return
		}
		expect(t, string(stream), string(stream))
		expect(t, string(stream), cut(string(stream), cuts)...)
	})
}

// cut cuts the stream into chunks of these sizes, over and over.
func cut(stream string, sizes []byte) (chunks []string) {
	for i := 0; len(stream) > 0; i++ {
		n := len(stream)
		if len(sizes) > 0 {
			n = min(n, 1+int(sizes[i%len(sizes)]))
		}
		chunks, stream = append(chunks, stream[:n]), stream[n:]
	}
	return chunks
}

// A message within one chunk is delivered in one piece: the host need not
// collect it.
func TestOnePiece(t *testing.T) {
	for _, s := range []string{"data: {}\n\n", "data:{}\r\n\r\n", "id: 7\rdata: {}\r\r", "data:\ndata: {}\n\n"} {
		h := sdktest.New(abi.Manifest{}, &ear{})
		h.Data(1, 0, []byte(s))
		deliveries := 0
		for _, e := range h.Entries() {
			if strings.Contains(e.Line, "deliver(") {
				deliveries++
			}
		}
		if deliveries != 1 {
			t.Errorf("%q: %d calls\n%s", s, deliveries, sdktest.Text(h.Entries()))
		}
	}
}

func TestKeepIsBounded(t *testing.T) {
	for _, tt := range []struct {
		stream, want string
		whole        bool
	}{
		{"event: e\ndata: 12345678\n\n", "12345678", true},
		{"event: e\ndata: 123456789\n\n", "12345678", false},
		{"event: e\ndata: 1234567\ndata: 8\n\n", "1234567\n", false},
		{"event: message\ndata: 123\n\n", "", true},
		{"event: e\ndata: " + strings.Repeat("long", 1000) + "\n\n", "longlong", false},
	} {
		for _, size := range []int{1, 5, 5000} {
			tr := &ear{reader: sse.Reader{Keep: 8}}
			h := sdktest.New(abi.Manifest{}, tr)
			for c := range slices.Chunk([]byte(tt.stream), size) {
				h.Data(1, 0, c)
			}
			if kept, whole := tr.reader.Kept(); string(kept) != tt.want || whole != tt.whole {
				t.Errorf("%.30q by %d: kept %q, whole %v", tt.stream, size, kept, whole)
			}
		}
	}
}

// A stream that breaks off in an event leaves nothing of it behind; what it
// says after that begins anew.
func TestRestart(t *testing.T) {
	tr := &ear{}
	h := sdktest.New(abi.Manifest{}, tr)
	h.Data(1, 0, []byte("retry: 7\nid: 1\ndata: {}\n\nid: 2\nevent: x\ndata: {\"half\""))
	if tr.reader.Size() != 7 {
		t.Errorf("%d bytes of data so far", tr.reader.Size())
	}
	h.Event(abi.EventEnd, 1, 0, nil)
	if string(tr.reader.ID()) != "1" || tr.reader.Retry() != 7 || tr.reader.Size() != 0 {
		t.Errorf("resume from %q after %d", tr.reader.ID(), tr.reader.Retry())
	}
	h.Data(1, 0, []byte("\uFEFFdata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"))
	if n := len(h.Delivered); n != 2 || h.Delivered[1].Verdict != abi.VerdictNote {
		t.Errorf("delivered %+v", h.Delivered)
	}
	h.Data(1, 0, []byte("event: half"))
	h.Event(abi.EventEnd, 1, 0, nil)
	h.Data(1, 0, []byte("data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"))
	if n := len(h.Delivered); n != 3 || h.Delivered[2].Verdict != abi.VerdictNote {
		t.Errorf("delivered %+v", h.Delivered)
	}
	tr.reader.Reset(9)
	if len(tr.reader.ID()) != 0 || tr.reader.Retry() != 0 || tr.reader.Exchange != 9 {
		t.Error("Reset left something behind")
	}
}

// An event without end costs the guest nothing but the count.
func TestEndlessEventIsCounted(t *testing.T) {
	tr := &ear{}
	h := sdktest.New(abi.Manifest{}, tr)
	h.Verdict = func(uint32, []byte) abi.Verdict { return abi.VerdictTooBig }
	chunk := []byte("data: " + strings.Repeat("x", 1000) + "\n")
	for range 100 {
		h.Data(1, 0, chunk)
	}
	if tr.reader.Size() != 100_000 || len(tr.events) != 0 {
		t.Errorf("size %d, events %v", tr.reader.Size(), tr.events)
	}
}

// An id without end costs the guest no more than the longest one.
func TestEndlessID(t *testing.T) {
	tr := &ear{}
	h := sdktest.New(abi.Manifest{}, tr)
	h.Data(1, 0, []byte("id: "))
	for range 100 {
		h.Data(1, 0, bytes.Repeat([]byte("x"), 10_000))
	}
	if n := reflect.ValueOf(tr.reader).FieldByName("line").Cap(); n > 4<<10 {
		t.Errorf("%d bytes are kept", n)
	}
}

func BenchmarkEvent(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			r := &discard{}
			g := sdk.NewGuest(abi.Manifest{}, r, r)
			r.payload = []byte("event: message\nid: 0123456789abcdef_1\ndata: " + strings.Repeat("x", size) + "\n\n")
			b.ReportAllocs()
			for b.Loop() {
				g.Event(abi.EventData, 1, 0, uint32(len(r.payload)))
			}
		})
	}
}

func TestNoGarbage(t *testing.T) {
	r := &discard{payload: []byte("event: message\nid: 0123456789abcdef_1\nretry: 5\ndata: {}\ndata: {}\n\n: x\n\n")}
	g := sdk.NewGuest(abi.Manifest{}, r, r)
	if n := testing.AllocsPerRun(100, func() { g.Event(abi.EventData, 1, 0, uint32(len(r.payload))) }); n != 0 {
		t.Errorf("%v allocations for an event", n)
	}
}
