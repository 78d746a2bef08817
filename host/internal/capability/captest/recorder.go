package captest

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// Recorder is a hostio.Sink that records its calls. Each call is a word in their order:
// opened, data, end, exit, error.
type Recorder struct {
	mu           sync.Mutex
	changed      sync.Cond
	InCall       bool
	words        []string
	Bytes        []byte
	ExitCode     int
	ExitDetail   string
	Unread       bool // the argument of Exit
	Status       abi.Status
	Err          error
	DrainedCalls int
	HTTPStatus   int           // the status of the response
	Headers      []abi.Pair    // of the response
	Length       int64         // the length that the head announces
	Last         bool          // said with a head or data
	HoldAt       string        // the call that waits
	Release      chan struct{} // until this is closed
}

func NewRecorder() *Recorder {
	r := &Recorder{Release: make(chan struct{})}
	r.changed.L = &r.mu
	return r
}

func (r *Recorder) record(word string, note func()) {
	r.enter(word)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.InCall = false
	if note != nil {
		note()
	}
	if word != "data" || len(r.words) == 0 || r.words[len(r.words)-1] != "data" {
		r.words = append(r.words, word)
	}
	r.changed.Broadcast()
}

func (r *Recorder) enter(word string) {
	r.mu.Lock()
	if r.InCall {
		panic("two calls of one sink at a time")
	}
	r.InCall = true
	r.changed.Broadcast()
	r.mu.Unlock()
	if word == r.HoldAt {
		<-r.Release
	}
}

func (r *Recorder) Opened() { r.record("opened", nil) }
func (r *Recorder) Sealed(blob []byte) {
	r.record("sealed", func() { r.Bytes = append(r.Bytes, blob...) })
}
func (r *Recorder) Head(status int, headers []abi.Pair, length int64, body []byte, last bool) {
	r.record("head", func() {
		r.HTTPStatus, r.Headers, r.Length, r.Last = status, headers, length, last
		r.Bytes = append(r.Bytes, body...)
	})
}
func (r *Recorder) Data(p []byte, last bool) {
	r.record("data", func() {
		r.Bytes, r.Last = append(r.Bytes, p...), last
	})
}
func (r *Recorder) End()     { r.record("end", nil) }
func (r *Recorder) Drained() { r.record("drained", func() { r.DrainedCalls++ }) }
func (r *Recorder) Exit(code int, detail string, unread bool) {
	r.record("exit", func() { r.ExitCode, r.ExitDetail, r.Unread = code, detail, unread })
}
func (r *Recorder) Error(status abi.Status, err error) {
	r.record("error", func() { r.Status, r.Err = status, err })
}

// Until waits for a condition, which may look at the recorder.
func (r *Recorder) Until(ok func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !ok() {
		r.changed.Wait()
	}
}

// UntilWord waits until the sink has heard word.
func (r *Recorder) UntilWord(word string) { r.Until(func() bool { return r.Heard(word) }) }

// UntilData waits until the data is as long as n.
func (r *Recorder) UntilData(n int) { r.Until(func() bool { return len(r.Bytes) >= n }) }

// UntilLast waits until the sink has heard its last call.
func (r *Recorder) UntilLast() {
	r.Until(func() bool { return r.Heard("exit") || r.Heard("error") })
}

// Anything reports whether anything was heard. It is for until.
func (r *Recorder) Anything() bool { return len(r.words) > 0 }

// Heard reports whether the sink has heard word. It is for Until.
func (r *Recorder) Heard(word string) bool { return slices.Contains(r.words, word) }

// Order returns the words of the calls so far, in order.
func (r *Recorder) Order() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.words, " ")
}

// UntilOver waits until nothing more will be heard of an exchange.
func (r *Recorder) UntilOver() {
	r.Until(func() bool { return r.Last || r.Heard("end") || r.Heard("error") })
}

func WantError(t *testing.T, r *Recorder, status abi.Status, part string) {
	t.Helper()
	r.UntilOver()
	if r.Status != status || r.Err == nil || !strings.Contains(r.Err.Error(), part) {
		t.Errorf("error %v, %v; want %v, …%s…", r.Status, r.Err, status, part)
	}
}

func WantOrder(t *testing.T, r *Recorder, want string) {
	t.Helper()
	if got := r.Order(); got != want {
		t.Errorf("the sink heard %q, want %q (error: %v)", got, want, r.Err)
	}
}

func SizeName(n int) string {
	switch {
	case n >= 1_000_000:
		return "1MB"
	case n >= 10_000:
		return "10KB"
	}
	return "100B"
}
