package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// memoryFile is a file of a test. It is closed once, and nothing is written after that.
type memoryFile struct {
	mu     sync.Mutex
	text   bytes.Buffer
	closed bool
	fault  error         // of every write
	held   chan struct{} // a write waits for it, if there is one
}

func (p *memoryFile) Write(b []byte) (int, error) {
	if p.held != nil {
		<-p.held
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, errors.New("written after it was closed")
	}
	if p.fault != nil {
		return 0, p.fault
	}
	return p.text.Write(b)
}

func (p *memoryFile) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("closed twice")
	}
	p.closed = true
	return nil
}

func (p *memoryFile) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// records reads back what was written; every line of it must be sound.
func (p *memoryFile) records(t *testing.T) (list []Record) {
	t.Helper()
	for l, err := range Read(strings.NewReader(p.String())) {
		if err != nil {
			t.Fatalf("%v: %s", err, l.Raw)
		}
		r, _ := parse(bytes.Clone(l.Raw)) // the line is valid for now only
		list = append(list, r)
	}
	return list
}

// record runs talk with a recorder and returns what was recorded.
func record(t *testing.T, talk func(r *Recorder)) *memoryFile {
	t.Helper()
	p := new(memoryFile)
	r := NewRecorder(p)
	talk(r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return p
}

// The lines of a connection from its beginning to its end, byte by byte.
func TestLinesOfAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := record(t, func(r *Recorder) {
			r.Secrets().Hide("sesame-open")
			time.Sleep(time.Second)
			w := r.Connect("files", "stdio")
			w.Message(true, "", []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`))
			time.Sleep(1234 * time.Microsecond)
			w.Message(false, "", []byte("{\"jsonrpc\": \"2.0\",\r\n\"id\":1,\"result\":{\"token\":\"t\"}}"))
			w.Message(true, "2025-11-25", []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
			w.Message(false, "2025-11-25", []byte(`{"jsonrpc":"2.0","id":"a","method":"roots/list"}`))
			w.Message(true, "2025-11-25", []byte(`{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"sesame-open"}}`))
			w.Message(false, "2025-11-25", []byte("banner \x1b[1m"))
			w.Dropped("2025-11-25", errors.New("not JSON"), []byte("banner \x1b[1m"))
			w.Message(false, "2025-11-25", []byte(`[{"jsonrpc":"2.0","id":9,"result":{}}]`))
			w.Ended(errors.New("exit status 1: sesame-open"))
			w.Ended(errors.New("again"))
			w = r.Connect("files", "stdio")
			w.Closing()
			w.Ended(errors.New("closed"))
		})
		const t1, t2 = `"time":"2000-01-01T00:00:01.000000Z","at_us":1000000,`, `"time":"2000-01-01T00:00:01.001234Z","at_us":1001234,`
		const files, legacy = `"server":"files","connection":1,`, `"server":"files","connection":1,"era":"legacy","protocol":"2025-11-25",`
		want := []string{
			`{"kind":"start","format":"wharf-trace/1","time":"2000-01-01T00:00:00.000000Z","at_us":0}`,
			`{"kind":"opened",` + t1 + files + `"transport":"stdio"}`,
			`{"kind":"request",` + t1 + files + `"direction":"sent","method":"initialize","id":1,"bytes":46,"message":{"jsonrpc":"2.0","id":1,"method":"initialize"}}`,
			`{"kind":"response",` + t2 + files + `"direction":"received","method":"initialize","id":1,"took_us":1234,"bytes":50,"message":{"jsonrpc":"2.0","id":1,"result":{"token":"[secret]"}}}`,
			`{"kind":"notification",` + t2 + legacy + `"direction":"sent","method":"notifications/initialized","bytes":54,"message":{"jsonrpc":"2.0","method":"notifications/initialized"}}`,
			`{"kind":"request",` + t2 + legacy + `"direction":"received","method":"roots/list","id":"a","bytes":48,"message":{"jsonrpc":"2.0","id":"a","method":"roots/list"}}`,
			`{"kind":"response",` + t2 + legacy + `"direction":"sent","method":"roots/list","id":"a","took_us":0,"failed":true,"bytes":70,"message":{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"[secret]"}}}`,
			`{"kind":"malformed",` + t2 + legacy + `"direction":"received","bytes":11,"text":"banner \u001b[1m"}`,
			`{"kind":"dropped",` + t2 + legacy + `"direction":"received","why":"not JSON","bytes":11,"text":"banner \u001b[1m"}`,
			`{"kind":"batch",` + t2 + legacy + `"direction":"received","bytes":38,"message":[{"jsonrpc":"2.0","id":9,"result":{}}]}`,
			`{"kind":"lost",` + t2 + files + `"why":"exit status 1: [secret]"}`,
			`{"kind":"opened",` + t2 + `"server":"files","connection":2,"transport":"stdio"}`,
			`{"kind":"closed",` + t2 + `"server":"files","connection":2}`,
			`{"kind":"end",` + t2[:len(t2)-1] + `}`,
		}
		for i, line := range slices.Collect(strings.Lines(p.String())) {
			if i >= len(want) || line != want[i]+"\n" {
				t.Errorf("line %d is %swant   %s", i+1, line, want[min(i, len(want)-1)])
			}
		}
		if n := strings.Count(p.String(), "\n"); n != len(want) {
			t.Errorf("%d lines, want %d", n, len(want))
		}
		p.records(t)
	})
}

func TestNothingIsRecordedByNil(t *testing.T) {
	var r *Recorder
	w := r.Connect("s", "stdio")
	if w != nil {
		t.Fatal("there is a wire")
	}
	r.Secrets().Hide("12345678")
	r.Secrets().HideRecent("12345678")
	r.Flush(t.Context())
	w.Closing()
	w.Ended(nil)
	w.Dropped("", nil, nil)
	msg := []byte("{}")
	if n := testing.AllocsPerRun(100, func() { w.Message(true, "", msg) }); n != 0 {
		t.Errorf("%v allocations for nothing", n)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A message is copied before the call returns: its bytes are reused at once.
func TestMessagesAreCopied(t *testing.T) {
	p := record(t, func(r *Recorder) {
		w := r.Connect("s", "stdio")
		msg := []byte(`{"jsonrpc":"2.0","method":"first"}`)
		w.Message(true, "", msg)
		copy(msg, bytes.Repeat([]byte("x"), len(msg)))
	})
	if got := p.records(t)[2]; got.Method != "first" {
		t.Errorf("got %+v", got)
	}
}

// A long message is cut, says how long it was, and still finds its request, though
// servers like to write the id behind the result.
func TestLongMessages(t *testing.T) {
	long := strings.Repeat("x", messageCap)
	answer := `{"result":{"text":"` + long + `"},"jsonrpc":"2.0","id":7}`
	p := record(t, func(r *Recorder) {
		r.Secrets().Hide("a secret that is long enough")
		w := r.Connect("s", "stdio")
		w.Message(true, "", []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call"}`))
		w.Message(false, "", []byte(answer))
		at := messageCap - 10 // in the middle of the secret
		w.Message(false, "", []byte(`{"result":"`+long[:at-len(`{"result":"`)]+`a secret that is long enough`+long+`"}`))
		w.Message(false, "", []byte(`{"method":"m","params":"`+long+`"}`))
	})
	list := p.records(t)
	got := list[3]
	if got.Kind != Response || got.Method != "tools/call" || !got.Timed || got.Size != len(answer) || got.Message != nil || len(got.Text) != messageCap {
		t.Errorf("kind %s, method %q, timed %v, %d of %d bytes, %d are shown", got.Kind, got.Method, got.Timed, got.Size, len(answer), len(got.Text))
	}
	if got := list[4]; strings.Contains(got.Text, "a secret") || got.Kind != Response {
		t.Errorf("%s: the beginning of a secret that was cut is shown: %s", got.Kind, got.Text[len(got.Text)-20:])
	}
	if got := list[5]; got.Kind != Notification || got.Method != "m" {
		t.Errorf("got %s %s", got.Kind, got.Method)
	}
}

func TestLastID(t *testing.T) {
	for text, want := range map[string]string{
		`"}],"id":12}`: "12", `{},"id":"a\"b","jsonrpc":"2.0"}`: `"a\"b"`, "1,\"id\" : 3 }\n": "3", `x","jsonrpc":"2.0","id":4}`: "4",
		`{"id":5}}`: "", `\"id\":5}"}`: "", `"id":6`: "", `"id":[7]}`: "", `"id":5},"x":1}`: "", ``: "", `"xid":8}`: "",
	} {
		if got := string(strictjson.LastID([]byte(text))); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// Requests without an answer are forgotten in the end.
func TestRequestsWithoutAnswers(t *testing.T) {
	var a pendingRequests
	for i := range 3 * maxPending {
		a.match(&Record{Kind: Request, Direction: Sent, ID: fmt.Append(nil, i)})
	}
	if len(a.open) > maxPending || len(a.order) > maxPending {
		t.Errorf("%d requests are remembered, in %d places", len(a.open), len(a.order))
	}
	newest := Record{Kind: Response, Direction: Received, ID: fmt.Append(nil, 3*maxPending-1)}
	if a.match(&newest); !newest.Timed {
		t.Error("the newest is forgotten")
	}
	if again := newest; again.Timed {
		again.Timed = false
		if a.match(&again); again.Timed {
			t.Error("a second answer is timed")
		}
	}
}

// A disk that stands still does not hold up a message. What there is no room for is counted,
// and the file says where it is missing.
func TestADiskThatStandsStill(t *testing.T) {
	p := &memoryFile{held: make(chan struct{})}
	r := NewRecorder(p)
	w := r.Connect("s", "stdio")
	msg := []byte(`{"jsonrpc":"2.0","method":"m","params":"` + strings.Repeat("x", 32<<10) + `"}`)
	const total = 3000 // 96 MiB: twice what the writer can have taken and what waits
	for range total {
		w.Message(true, "", msg)
	}
	// There would be room for a small one, but then it would stand before the gap.
	w.Message(true, "", []byte(`{"jsonrpc":"2.0","method":"small"}`))
	close(p.held)
	r.Flush(t.Context())
	w.Message(true, "", []byte(`{"jsonrpc":"2.0","method":"later"}`))
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "are missing") {
		t.Errorf("got %v", err)
	}
	seen, missing, later := 0, 0, false
	for _, rec := range p.records(t) {
		switch {
		case rec.Kind == Gap:
			missing += rec.Missing
		case rec.Kind == End && rec.Missing != missing:
			t.Errorf("the end says %d, the gaps %d", rec.Missing, missing)
		case rec.Method == "m":
			seen++
		case rec.Method == "later":
			later = true
		case rec.Method == "small":
			t.Error("the gap is in the wrong place")
		}
	}
	if seen == 0 || missing == 0 || seen+missing != total+1 || !later {
		t.Errorf("%d are there, %d are missing, of %d; later: %v", seen, missing, total, later)
	}
}

// A disk that is full ends the trace, and nothing else.
func TestADiskThatIsFull(t *testing.T) {
	full := errors.New("no space left")
	p := &memoryFile{fault: full}
	r := NewRecorder(p)
	w := r.Connect("s", "stdio")
	for range 100 {
		w.Message(true, "", []byte("{}"))
	}
	r.Flush(t.Context())
	if err := r.Close(); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if !p.closed {
		t.Error("the file is open")
	}
	if err := r.Close(); !errors.Is(err, full) {
		t.Errorf("the second time: %v", err)
	}
}

// What was recorded before a flush is in the file when it returns; without one it
// is there as soon as the writer has nothing else to do.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(memoryFile)
		r := NewRecorder(p)
		w := r.Connect("s", "stdio")
		w.Message(true, "", []byte(`{"jsonrpc":"2.0","method":"one"}`))
		r.Flush(t.Context())
		if !strings.Contains(p.String(), `"one"`) {
			t.Error("flush has not flushed")
		}
		w.Message(true, "", []byte(`{"jsonrpc":"2.0","method":"two"}`))
		synctest.Wait()
		if !strings.Contains(p.String(), `"two"`) {
			t.Error("an idle writer keeps a line back")
		}
		r.Close()
		r.Flush(t.Context()) // of what is closed
	})
}

// A flush does not wait for a disk that stands still longer than its context.
func TestFlushGivesUp(t *testing.T) {
	p := &memoryFile{held: make(chan struct{})}
	r := NewRecorder(p)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.Flush(ctx)
	close(p.held)
	r.Close()
}

// What is recorded while the file is closed is gone, and breaks nothing.
func TestRecordingWhileItCloses(t *testing.T) {
	p := new(memoryFile)
	r := NewRecorder(p)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			w := r.Connect(fmt.Sprint("s", i), "stdio")
			for j := range 500 {
				r.Secrets().HideRecent(fmt.Sprintf("secret-%d-%d", i, j))
				w.Message(j%2 == 0, "", []byte(`{"jsonrpc":"2.0","method":"m"}`))
			}
			w.Ended(nil)
		})
	}
	wg.Go(func() { r.Close() })
	wg.Wait()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if list := p.records(t); list[len(list)-1].Kind != End {
		t.Error("there is no end")
	}
}

// What the writer makes of a message, from the path to the file.
func BenchmarkWriter(b *testing.B) {
	r := NewRecorder(struct {
		io.Writer
		io.Closer
	}{io.Discard, new(memoryFile)})
	defer r.Close()
	r.Secrets().Hide("a secret of the configuration", "another one of it")
	w := r.Connect("s", "stdio")
	msg := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello \"you\""}}}`)
	b.SetBytes(int64(len(msg)))
	for n := 0; b.Loop(); n++ {
		if w.Message(true, "2025-11-25", msg); n%1000 == 0 {
			r.Flush(b.Context())
		}
	}
}

// The message path pays for a copy, and for no allocation once the buffers have
// grown.
func BenchmarkMessage(b *testing.B) {
	r := NewRecorder(struct {
		io.Writer
		io.Closer
	}{io.Discard, new(memoryFile)})
	defer r.Close()
	w := r.Connect("s", "stdio")
	msg := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		w.Message(true, "2025-11-25", msg)
	}
}
