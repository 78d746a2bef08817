package guest

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// work is I/O that does nothing.
type work struct{}

func (work) Run()  {}
func (work) Stop() {}

// inlineInbox is a receiver that takes errands.
type inlineInbox struct {
	*inbox
	exchange uint32
}

func (r *inlineInbox) OfferInline(exchange uint32, _ hostio.InlineIO) bool {
	r.exchange = exchange
	return true
}

// openHTTP is open for the http plugin.
func openHTTP(t *testing.T, c Config) *rig { return open(t, httpPackage, c) }

// Errands go to who waits for the exchange that the handle was opened for, and
// to no caller when the handle is closed.
func TestErrandsOfAHandle(t *testing.T) {
	r := openHTTP(t, Config{})
	to := &inlineInbox{inbox: r.inbox}
	r.receiver = to
	r.send(t, 7, "{}")
	s := r.host.stream(0).sink.(*sink)
	if !s.OfferInline(work{}) || to.exchange != 7 {
		t.Errorf("it went to exchange %d", to.exchange)
	}
	r.release(&r.handles[0])
	if s.OfferInline(work{}) {
		t.Error("the I/O of a closed handle was taken")
	}
}

// A head that is the last does not wait for a guest that is busy.
func TestTheLastHeadDoesNotWait(t *testing.T) {
	r := openHTTP(t, Config{})
	r.send(t, 1, "{}")
	r.send(t, 2, "{}")
	busy, free := make(chan struct{}), make(chan struct{})
	r.inbox.verdict = func(msg []byte) abi.Verdict {
		if string(msg) == "first" {
			close(busy)
			<-free
		}
		return abi.VerdictAnswer
	}
	headers := []abi.Pair{{Key: "content-type", Value: "application/json"}}
	over := make(chan struct{})
	go func() {
		r.host.stream(0).sink.Head(200, headers, 5, []byte("first"), true)
		close(over)
	}()
	<-busy
	body := []byte("second")
	r.host.stream(1).sink.Head(200, headers, 6, body, true)
	clear(body) // it is ours again, though the guest has not seen it
	close(free)
	<-over
	if got := strings.Join(r.inbox.messages(), " "); got != "first second" {
		t.Errorf("got %q", got)
	}
}

// What a server announces is believed as far as what it sends bears out.
func TestAnnouncedLength(t *testing.T) {
	const limit = 16 << 20
	for _, tt := range []struct{ whole, first, most int }{
		{0, 64 << 10, 64 << 10},       // not announced
		{1 << 20, 64 << 10, 1 << 20},  // right at once
		{limit, 100, 16 * 100},        // a lie may cost this much
		{limit, 64 << 10, 1 << 20},    // the beginning of much
		{100, 64 << 10, 64 << 10},     // too little
		{2 * limit, 1 << 20, limit},   // too much
		{60 << 10, 1 << 10, 16 << 10}, // short
	} {
		var a partials
		m := a.open(1)
		a.add(m, make([]byte, tt.first), min(tt.whole, limit), limit, limit)
		if cap(m.data) > max(tt.most, 4<<10) {
			t.Errorf("%d bytes of %d take %d, expected %d", tt.first, tt.whole, cap(m.data), tt.most)
		}
	}
}

// A long answer whose length is known is collected in one buffer.
func TestALongAnswerIsCollectedOnce(t *testing.T) {
	r := openHTTP(t, Config{})
	r.send(t, 1, "{}")
	body := []byte(strings.Repeat("x", 1<<20))
	s := r.host.stream(0).sink
	s.Head(200, []abi.Pair{{Key: "content-type", Value: "application/json"}}, 1<<20, body[:64<<10], false)
	buffer := &r.inbound.private[1].data[:1][0]
	s.Data(body[64<<10:1<<19], false)
	if m := r.inbound.private[1]; &m.data[0] != buffer || cap(m.data) != 1<<20 {
		t.Errorf("it was moved to %d bytes", cap(m.data))
	}
	s.Data(body[1<<19:], true)
	if got := r.inbox.messages(); len(got) != 1 || len(got[0]) != 1<<20 {
		t.Errorf("%d messages", len(got))
	}
}

// borrowHost is a world whose streams borrow.
type borrowHost struct {
	*fakeHost
	to *borrower
}

func (w *borrowHost) Open(abi.OpenKind, *abi.OpenRequest, hostio.Sink) (hostio.Stream, abi.Status, error) {
	return w.to, abi.OK, nil
}

// borrower is a stream that remembers how it got its bytes.
type borrower struct {
	discardStream
	written, lent []byte
	of            interface{ Free() }
}

func (b *borrower) Write(p []byte, _ bool)                          { b.written = p }
func (b *borrower) Borrow(p []byte, _ bool, of interface{ Free() }) { b.lent, b.of = p, of }

// A stream that can do without a copy of a long message gets it as it is, and
// the message is held for it.
func TestLongMessagesAreLent(t *testing.T) {
	r := openHTTP(t, Config{})
	for n, size := range []int{100, borrowSize} {
		to := &borrower{}
		r.Instance.host = &borrowHost{r.host, to}
		m := newTestMessage(uint32(n+1), strings.Repeat("x", size), r.freed)
		if err := r.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		<-r.freed // the instance is done with it, the stream may be not
		switch {
		case size < borrowSize && (to.of != nil || m.held != 0 || len(to.written) != size):
			t.Errorf("%d bytes were lent", size)
		case size >= borrowSize && (to.of != m || m.held != 1 || len(to.lent) != size):
			t.Errorf("of %d bytes %d were lent, and the message is held %d times", size, len(to.lent), m.held)
		}
	}
}
