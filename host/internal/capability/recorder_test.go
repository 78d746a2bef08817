//go:build unix

package capability

import (
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// recorder is a hostio.Sink that writes down what it hears. The order is kept as
// words: opened, data, end, exit, error.
type recorder struct {
	mu      sync.Mutex
	changed sync.Cond
	inCall  bool
	words   []string
	data    []byte
	code    int
	detail  string
	status  abi.Status
	err     error
	drained int
	head    int           // the status of the response
	headers []abi.Pair    // of the response
	length  int64         // what its head announces
	last    bool          // said with a head or data
	holdAt  string        // the call that waits
	hold    chan struct{} // until this is closed
}

func newRecorder() *recorder {
	r := &recorder{hold: make(chan struct{})}
	r.changed.L = &r.mu
	return r
}

func (r *recorder) hear(word string, note func()) {
	r.enter(word)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inCall = false
	if note != nil {
		note()
	}
	if word != "data" || len(r.words) == 0 || r.words[len(r.words)-1] != "data" {
		r.words = append(r.words, word)
	}
	r.changed.Broadcast()
}

func (r *recorder) enter(word string) {
	r.mu.Lock()
	if r.inCall {
		panic("two calls of one sink at a time")
	}
	r.inCall = true
	r.changed.Broadcast()
	r.mu.Unlock()
	if word == r.holdAt {
		<-r.hold
	}
}

func (r *recorder) Opened() { r.hear("opened", nil) }
func (r *recorder) Sealed(blob []byte) {
	r.hear("sealed", func() { r.data = append(r.data, blob...) })
}
func (r *recorder) Head(status int, headers []abi.Pair, length int64, body []byte, last bool) {
	r.hear("head", func() {
		r.head, r.headers, r.length, r.last = status, headers, length, last
		r.data = append(r.data, body...)
	})
}
func (r *recorder) Data(p []byte, last bool) {
	r.hear("data", func() {
		r.data, r.last = append(r.data, p...), last
	})
}
func (r *recorder) End()     { r.hear("end", nil) }
func (r *recorder) Drained() { r.hear("drained", func() { r.drained++ }) }
func (r *recorder) Exit(code int, detail string) {
	r.hear("exit", func() { r.code, r.detail = code, detail })
}
func (r *recorder) Error(status abi.Status, err error) {
	r.hear("error", func() { r.status, r.err = status, err })
}

// until waits for a condition, which may look at the recorder.
func (r *recorder) until(ok func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !ok() {
		r.changed.Wait()
	}
}

// untilWord waits until the sink has heard word.
func (r *recorder) untilWord(word string) { r.until(func() bool { return r.heard(word) }) }

// untilData waits until the data is as long as n.
func (r *recorder) untilData(n int) { r.until(func() bool { return len(r.data) >= n }) }

// untilLast waits until the sink has heard its last call.
func (r *recorder) untilLast() {
	r.until(func() bool { return r.heard("exit") || r.heard("error") })
}

func (r *recorder) heard(word string) bool {
	for _, w := range r.words {
		if w == word {
			return true
		}
	}
	return false
}

// order is what was heard, in words.
func (r *recorder) order() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.words, " ")
}

// untilOver waits until nothing more will be heard of an exchange.
func (r *recorder) untilOver() {
	r.until(func() bool { return r.last || r.heard("end") || r.heard("error") })
}

func wantError(t *testing.T, r *recorder, status abi.Status, part string) {
	t.Helper()
	r.untilOver()
	if r.status != status || r.err == nil || !strings.Contains(r.err.Error(), part) {
		t.Errorf("error %v, %v; want %v, …%s…", r.status, r.err, status, part)
	}
}

func wantOrder(t *testing.T, r *recorder, want string) {
	t.Helper()
	if got := r.order(); got != want {
		t.Errorf("the sink heard %q, want %q (error: %v)", got, want, r.err)
	}
}
