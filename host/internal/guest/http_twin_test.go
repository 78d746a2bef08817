package guest

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// FuzzHTTPTwins has both twins live through the same connection, which every byte of
// plot bends another way: messages of both eras, responses of every kind, streams that
// are cut anywhere and break off, timers, cancellations, refusals of the host, what an
// earlier instance saved, and the end. What comes is what a host may send: the events
// are made from the handles that are open and the timers that are armed. They do the
// same, host call by host call and text by text, so that the plugin in C and the one
// that is read, with sdk/sse in it, are held together.
func FuzzHTTPTwins(f *testing.F) {
	skipUnderRace(f)
	for seed := range uint64(40) {
		f.Add(randomPlot(seed, 400))
	}
	f.Fuzz(func(t *testing.T, plot []byte) {
		if len(plot) > 4<<10 {
			return
		}
		d := &twinRun{T: t, plot: plot, said: map[uint32][]byte{}}
		d.pair = [2]*twinSide{d.enter(shippedHTTP), d.enter(httpPackage)}
		d.play()
	})
}

// TestHTTPTwins lives through more connections, and longer ones.
func TestHTTPTwins(t *testing.T) {
	skipUnderRace(t)
	for seed := range uint64(20) {
		d := &twinRun{T: t, plot: randomPlot(1000+seed, 2000), said: map[uint32][]byte{}}
		d.pair = [2]*twinSide{d.enter(shippedHTTP), d.enter(httpPackage)}
		d.play()
	}
}

// TestHTTPTwinsDrain sends more behind an answer than is read, which no plot does.
func TestHTTPTwinsDrain(t *testing.T) {
	d := twins(t)
	h := d.post(abi.Facts{Kind: abi.Request, Method: "tools/call", Version: "2026-07-28"})
	d.answer(h, 200, "text/event-stream", "data: {ANSWER}\n\n")
	line, read := []byte(":"+strings.Repeat("x", 998)+"\n"), 0
	for ; len(d.handles()) > 0 && read < 1<<20; read += len(line) {
		d.run(item{kind: abi.EventData, handle: h, payload: line})
	}
	if least := 64 << 10; read < least || read > least+len(line) {
		t.Errorf("%d bytes behind the answer are read", read)
	}
}

// TestHTTPTwinsSkip has lines that are too long to be kept, with each kind of end, which
// few plots have before an event ends.
func TestHTTPTwinsSkip(t *testing.T) {
	for _, end := range []string{"\n", "\r", "\r\n"} {
		lines := []string{"data: {NOTE}", ": " + strings.Repeat("c", 1100), "", "data: {ANSWER}", "", ""}
		body := []byte(strings.Join(lines, end))
		for _, size := range []int{len(body), 1} {
			d := twins(t)
			h := d.post(abi.Facts{Kind: abi.Request, Method: "tools/call", Version: "2026-07-28"})
			d.answer(h, 200, "text/event-stream", "")
			for piece := range slices.Chunk(body, size) {
				d.run(item{kind: abi.EventData, handle: h, payload: piece})
			}
			box := d.pair[0].inst.receiver.(*inbox)
			if got := box.messages(); len(got) != 2 {
				t.Errorf("lines that end in %q, by %d bytes: %q", end, size, got)
			}
		}
	}
}

// TestHTTPTwinsResume has each attempt to resume a stream come to nothing, as no plot does
// so often.
func TestHTTPTwinsResume(t *testing.T) {
	for name, fails := range map[string]func(d *twinRun, h uint32){
		"fault": func(d *twinRun, h uint32) { d.answer(h, 502|abi.HeadLast, "text/html", "<html>") },
		"least": func(d *twinRun, h uint32) { d.answer(h, 500|abi.HeadLast, "", "") },
		"empty": func(d *twinRun, h uint32) { d.answer(h, 200|abi.HeadLast, "text/event-stream", ": hello\n\n") },
		"down":  func(d *twinRun, h uint32) { d.run(item{kind: abi.EventError, handle: h, arg: uint32(d.status())}) },
	} {
		d := twins(t)
		d.answer(d.post(abi.Facts{Kind: abi.Request, Method: "initialize"}), 200|abi.HeadLast, "application/json", "{ANSWER}")
		d.answer(d.post(abi.Facts{Kind: abi.Notification, Method: "notifications/initialized", Version: "2025-11-25", Epoch: 1}), 202|abi.HeadLast, "", "")
		d.answer(d.handles()[0], 405|abi.HeadLast, "", "") // there is no listener
		h := d.post(abi.Facts{Kind: abi.Request, Method: "tools/call", Version: "2025-11-25", Epoch: 1})
		d.answer(h, 200|abi.HeadLast, "text/event-stream", "id: a\ndata: {NOTE}\n\n")
		tries := 0
		for ; len(d.pair[0].timers.armed) > 0 && tries < 100; tries++ {
			d.timer()
			fails(d, d.handles()[0])
		}
		if tries != 5 || len(d.handles()) > 0 {
			t.Errorf("%s: given up after %d attempts, open are %v", name, tries, d.handles())
		}
	}
}

// twins returns both twins on a connection that has begun, with no plot.
func twins(t *testing.T) *twinRun {
	skipUnderRace(t)
	d := &twinRun{T: t, said: map[uint32][]byte{}}
	d.pair = [2]*twinSide{d.enter(shippedHTTP), d.enter(httpPackage)}
	d.open()
	return d
}

// post sends a message, and returns the handle that was opened for it.
func (d *twinRun) post(f abi.Facts) uint32 {
	d.Helper()
	before := d.handles()
	d.exchange++
	f.ID = "1"
	facts := abi.AppendFacts(nil, &f)
	d.run(item{kind: abi.EventMessage, handle: uint32(len(facts)), arg: d.exchange, payload: append(facts, "{}"...)})
	for _, h := range d.handles() {
		if !slices.Contains(before, h) {
			return h
		}
	}
	d.Fatalf("nothing was opened for %+v", f)
	return 0
}

// answer begins a response.
func (d *twinRun) answer(h, status uint32, media, body string) {
	d.Helper()
	var head abi.Head
	if media != "" {
		head.Headers = []abi.Pair{{Key: "content-type", Value: media}}
	}
	d.run(item{kind: abi.EventHead, handle: h, arg: status, payload: append(abi.AppendHead(nil, &head), body...)})
}

func skipUnderRace(t testing.TB) {
	t.Helper()
	if raceEnabled {
		t.Skip("one goroutine does everything, and the detector makes it take minutes")
	}
}

func randomPlot(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	plot := make([]byte, n)
	for i := range plot {
		plot[i] = byte(r.Uint32())
	}
	return plot
}

// twinSide is one of the twins on a stage of its own.
type twinSide struct {
	*stage
	inst   *Instance
	timers *fewTimers
}

// fewTimers are timers of which there are only so many.
type fewTimers struct {
	fakeTimers
	most int
}

func (f *fewTimers) Set(id uint32, after time.Duration) abi.Status {
	if _, armed := f.armed[id]; !armed && after > 0 && len(f.armed) >= f.most {
		return abi.LimitReached
	}
	f.fakeTimers.Set(id, after)
	if after == 0 {
		delete(f.armed, id)
	}
	return abi.OK
}

// twinRun is what happens to both twins.
type twinRun struct {
	*testing.T
	pair     [2]*twinSide
	plot     []byte            // what is left of it
	exchange uint32            // of the last message
	epoch    uint32            // of the session, as it was saved last
	lost     bool              // the server has forgotten it
	headed   map[uint32]bool   // handles that have had a head
	said     map[uint32][]byte // what the server has still to send, by handle
	closed   bool
	log      []string // of the events
}

// smallCap is the message cap of a drama.
const smallCap = 2000

func (d *twinRun) enter(which string) *twinSide {
	d.Helper()
	a := &twinSide{stage: &stage{}, timers: &fewTimers{}}
	box := newInbox()
	box.verdict = verdictOf
	limits := Limits{MessageCap: smallCap}
	inst, err := New(d.Context(), Config{Plugin: "twin", Module: twin(d.T, which), Trace: a.stage.trace, SingleThreaded: true, Limits: limits})
	if err != nil {
		d.Fatal(err)
	}
	a.inst = inst
	inst.host, inst.receiver, inst.timers = a.stage, box, a.timers
	d.Cleanup(func() { inst.executor.Close() })
	return a
}

// verdictOf takes the verdict from a message's own words.
func verdictOf(msg []byte) abi.Verdict {
	for _, v := range []abi.Verdict{
		abi.VerdictAnswer, abi.VerdictNote, abi.VerdictRequest, abi.VerdictLate, abi.VerdictWrongID,
	} {
		if bytes.Contains(msg, []byte(v.String())) {
			return v
		}
	}
	if len(bytes.TrimSpace(msg)) == 0 {
		return abi.VerdictBlank
	}
	return abi.VerdictMalformed
}

// pick takes a number below n from the plot, 0 behind its end.
func (d *twinRun) pick(n int) int {
	if len(d.plot) == 0 {
		return 0
	}
	c := d.plot[0]
	d.plot = d.plot[1:]
	return int(c) % n
}

// odds reports true once in n times.
func (d *twinRun) odds(n int) bool { return d.pick(n) == n-1 }

func one[T any](d *twinRun, of []T) T { return of[d.pick(len(of))] }

// open begins the connection.
func (d *twinRun) open() {
	d.headed = map[uint32]bool{}
	most := one(d, []int{32, 32, 3, 1})
	for _, a := range d.pair {
		a.timers.most = most
	}
	messageCap := one(d, []uint32{smallCap, smallCap, 20, 0})
	d.run(item{kind: abi.EventOpen, payload: abi.AppendSettings(nil, &abi.Settings{
		Server: "twin", Values: []abi.Pair{{Key: "a", Value: "b"}}, Grants: []abi.Grant{{Kind: abi.OpenHTTP, Name: "main"}}, MessageCap: messageCap,
	})})
	if d.odds(4) {
		state := d.saved()
		fmt.Sscanf(string(state), "epoch %d\n", &d.epoch)
		d.run(item{kind: abi.EventResume, payload: state})
	}
}

func (d *twinRun) play() {
	d.open()
	for len(d.plot) > lastWords && !d.over() {
		d.step()
	}
	d.close()
	for len(d.plot) > 0 && !d.over() {
		d.step()
	}
}

// lastWords is how much of a plot is left when the connection is to end.
const lastWords = 100

func (d *twinRun) close() {
	if !d.closed {
		d.closed = true
		d.run(item{kind: abi.EventClose})
	}
}

// over reports whether the connection has ended.
func (d *twinRun) over() bool { return d.pair[0].inst.failure != nil }

// run has both twins take an event, unless all is over, and compares what they do.
func (d *twinRun) run(it item) {
	d.Helper()
	if d.over() {
		return
	}
	var did [2]string
	for n, a := range d.pair {
		a.entries = nil
		it := it
		it.payload = bytes.Clone(it.payload)
		if it.kind == abi.EventMessage {
			it.msg = &testMessage{exchange: it.arg, payload: it.payload, start: int(it.handle)}
		}
		a.inst.handleEvent(&it)
		var text strings.Builder
		for _, e := range a.entries {
			if strings.HasPrefix(e.Line, "  <-- save(") {
				_, err := fmt.Sscanf(string(e.Bytes), "epoch %d\n", &d.epoch)
				d.lost = err != nil
			}
			fmt.Fprintf(&text, "%s %q\n", e.Line, e.Bytes)
		}
		did[n] = text.String()
	}
	first, _, _ := strings.Cut(did[0], "\n")
	d.log = append(d.log, first)
	if did[0] != did[1] {
		d.Fatalf("behind\n%s\nthe shipped one did\n%s\nand that in Go\n%s", strings.Join(d.log, "\n"), did[0], did[1])
	}
}

// step is one event, or a change of how the host answers.
func (d *twinRun) step() {
	handles := d.handles()
	if d.odds(8) {
		d.refuse(abi.OK)
	}
	switch n := d.pick(32); {
	case n < 7:
		d.message()
	case n < 27 && len(handles) > 0:
		d.response(one(d, handles))
	case n < 29:
		d.timer()
	case n == 29:
		d.run(item{kind: abi.EventCancel, arg: d.exchange - uint32(d.pick(4))})
	case n == 30:
		d.whim()
	default:
		d.oddity()
	}
}

// handles returns the open ones.
func (d *twinRun) handles() (open []uint32) {
	for n := range d.pair[0].inst.handles {
		if h := &d.pair[0].inst.handles[n]; h.stream != nil {
			open = append(open, abi.MakeHandle(uint8(n+1), h.generation))
		}
	}
	return open
}

// whim changes what the host says to the next calls, or lets the guests rest.
func (d *twinRun) whim() {
	if d.odds(2) {
		d.refuse(one(d, []abi.Status{abi.LimitReached, abi.Denied, -99}))
		return
	}
	for _, a := range d.pair {
		a.inst.releaseBuffers()
	}
}

// refuse makes the host refuse what is opened, or not.
func (d *twinRun) refuse(s abi.Status) {
	for _, a := range d.pair {
		a.refuse = s
	}
}

// oddity is what comes seldom.
func (d *twinRun) oddity() {
	switch d.pick(8) {
	case 0:
		if d.odds(3) {
			d.close()
		}
	case 1:
		d.run(item{kind: abi.EventError, arg: uint32(d.status()), payload: []byte("of none")})
	case 2:
		d.run(item{kind: abi.Kind(100 + d.pick(9)), handle: 1, arg: 1, payload: []byte("grease")})
	case 3:
		for _, h := range d.handles() {
			d.run(item{kind: abi.EventOpened, handle: h})
		}
	case 4:
		for _, h := range d.handles() {
			d.run(item{kind: abi.EventError, handle: h, arg: uint32(d.status())})
		}
	case 5:
		d.crowd(d.odds(2))
	case 6, 7:
		d.trouble()
	}
}

// crowd is many calls at once, whose streams do not end behind the answer, or end
// before it and are to be resumed.
func (d *twinRun) crowd(answered bool) {
	f := abi.Facts{Kind: abi.Request, ID: "1", Method: "tools/call", Version: "2025-11-25", Epoch: d.epoch}
	facts := abi.AppendFacts(nil, &f)
	head := abi.AppendHead(nil, &abi.Head{Headers: []abi.Pair{{Key: "content-type", Value: "text/event-stream"}}})
	arg, body := uint32(200)|abi.HeadLast, "id: 5\n\n"
	if answered {
		arg, body = 200, "data: {ANSWER}\n\n"
	}
	for range 34 {
		before := d.handles()
		d.exchange++
		d.run(item{kind: abi.EventMessage, handle: uint32(len(facts)), arg: d.exchange, payload: append(slices.Clone(facts), "{}"...)})
		for _, h := range d.handles() {
			if !slices.Contains(before, h) {
				d.headed[h] = true
				d.run(item{kind: abi.EventHead, handle: h, arg: arg, payload: append(slices.Clone(head), body...)})
			}
		}
	}
}

// trouble is a server that answers nothing for a while: what comes again with its
// timer finds it as it was.
func (d *twinRun) trouble() {
	status := d.status()
	for range 1 + d.pick(8) {
		d.timer()
		for _, h := range d.handles() {
			if !d.headed[h] {
				d.run(item{kind: abi.EventError, handle: h, arg: uint32(status), payload: []byte("down")})
			}
		}
	}
}

func (d *twinRun) status() abi.Status {
	return one(d, []abi.Status{abi.Unreachable, abi.Reset, abi.Denied, abi.TimedOut, abi.ProtocolFailed, -77})
}

var (
	versions = []string{"2025-11-25", "2025-11-25", "2025-11-25", "2026-07-28", "", "2025-03-26", "2026-07-27", "2026-07-28x", "2026-07-28\x00", "3", "é"}
	methods  = []string{"initialize", "tools/call", "tools/call", "notifications/initialized", "", "initializer"}
)

// message is one of the session, of a handshake or of none.
func (d *twinRun) message() {
	d.exchange++
	f := abi.Facts{Kind: abi.MessageKind(1 + d.pick(3)), ID: "1"}
	switch n := d.pick(12); {
	case n == 0 || d.epoch == 0 || d.lost && n > 3:
		f.Kind, f.Method, f.Epoch = abi.Request, "initialize", d.epoch
	case n == 1:
		f.Version, f.Method, f.Epoch = one(d, versions), one(d, methods), uint32(d.pick(4))
	case n == 2:
		f.Version, f.Method, f.Epoch = "2025-11-25", "tools/call", d.epoch+1-uint32(d.pick(3))
	case n == 3:
		f.Kind, f.Version, f.Method, f.Epoch = abi.Notification, "2025-11-25", "notifications/initialized", d.epoch
	default:
		f.Kind, f.Version, f.Method, f.Epoch = abi.Request, "2025-11-25", "tools/call", d.epoch
	}
	if d.odds(3) {
		f.Name = one(d, []string{"x", "a/b", strings.Repeat("long ", 300)})
		f.Headers = []abi.Pair{{Key: "mcp-name", Value: f.Name}, {Key: "mcp-method", Value: f.Method}}[:1+d.pick(2)]
	}
	facts := abi.AppendFacts(nil, &f)
	switch {
	case d.odds(256):
		facts = facts[:len(facts)-1-d.pick(len(facts))] // the guest is to refuse it
	case d.odds(50):
		facts = append(facts, "beyond"...)
	}
	d.run(item{kind: abi.EventMessage, handle: uint32(len(facts)), arg: d.exchange, payload: append(facts, `{"jsonrpc":"2.0"}`...)})
}

// timer fires one of those that are armed.
func (d *twinRun) timer() {
	if armed := slices.Sorted(maps.Keys(d.pair[0].timers.armed)); len(armed) > 0 {
		d.run(item{kind: abi.EventTimer, handle: one(d, armed)})
	}
}

// response is the next event of an HTTP response.
func (d *twinRun) response(h uint32) {
	switch {
	case d.odds(24):
		text := one(d, []string{"", "connection refused", strings.Repeat("é", 900)})
		d.gone(h)
		d.run(item{kind: abi.EventError, handle: h, arg: uint32(d.status()), payload: []byte(text)})
	case !d.headed[h]:
		d.head(h)
	case d.odds(8):
		d.gone(h)
		d.run(item{kind: abi.EventEnd, handle: h})
	default:
		arg := uint32(0)
		body := d.chunk(h)
		if len(d.said[h]) == 0 && d.odds(3) {
			arg = abi.Last
			d.gone(h)
		}
		d.run(item{kind: abi.EventData, handle: h, arg: arg, payload: body})
	}
}

func (d *twinRun) gone(h uint32) {
	delete(d.headed, h)
	delete(d.said, h)
}

var (
	statuses = []uint32{200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 202, 202, 202, 204, 206, 299, 300, 302, 400, 401, 404, 404, 405, 499, 500, 502, 503, 599, 0, 65535}
	types    = []string{
		"text/event-stream", "text/event-stream", "text/event-stream", "text/event-stream", "application/json",
		"text/event-stream", "text/event-stream", "text/event-stream", "text/event-stream; charset=utf-8",
		"application/json", "application/json", " Application/JSON\t;charset=utf-8", "TEXT/Event-Stream", "text/html", "",
		"text/event-strea", "text/event-streams", ";", "\u00a0text/html\u0130", strings.Repeat("Média/", 400),
	}
	sessions = []string{"", "abc", "abc", "other", strings.Repeat("s", 700), "a b\tc"}
)

// head begins a response, most often with a part of the body.
func (d *twinRun) head(h uint32) {
	d.headed[h] = true
	var head abi.Head
	media, status := one(d, types), one(d, statuses)
	if d.odds(2) {
		media, status = "text/event-stream", 200 // or nothing ever lasts
	}
	if media != "" || d.odds(2) {
		head.Headers = append(head.Headers, abi.Pair{Key: "content-type", Value: media})
	}
	if id := one(d, sessions); id != "" || d.odds(2) {
		head.Headers = append(head.Headers, abi.Pair{Key: "mcp-session-id", Value: id})
	}
	if d.odds(4) {
		slices.Reverse(head.Headers)
		head.Headers = append(head.Headers, abi.Pair{Key: "content-type", Value: "application/json"}, abi.Pair{Key: "x", Value: strings.Repeat("y", 400)})
	}
	payload := abi.AppendHead(nil, &head)
	if d.odds(256) {
		payload = payload[:len(payload)-1-d.pick(len(payload))] // likewise
	}
	arg := status
	if d.odds(2) {
		payload = append(payload, d.chunk(h)...)
	}
	if len(d.said[h]) == 0 && d.odds(3) {
		arg |= abi.HeadLast
		d.gone(h)
	}
	d.run(item{kind: abi.EventHead, handle: h, arg: arg, payload: payload})
}

// events are what a good server sends, the last of them cut off.
var events = []string{
	"id: 1\ndata: {NOTE}\n\n", "id: 2\n\n", "id: 3\n\ndata: ", "retry: 200\nid: 4\ndata: {NOTE}\n\ndata: {NO", "data: {ANSWER}\n\n",
}

// pieces are what bodies are made of, well-formed or not.
var pieces = []string{
	"data: {ANSWER}\n\n", "data: {NOTE}\n\n", "data:{REQUEST}\r\n\r\n", "data: {LATE}\r\r", "data: {WRONG_ID}\n\n",
	"data: {\ndata: ANSWER\ndata\ndata:\ndata: }\n\n", "data\n\n", "data:\n\n", "data: \n\n", "datum: x\n\n", "data : x\n",
	"id: 1\n", "id: é2\n", "id\n", "id:\n", "id: a\x00b\n", "id: \xff\n", "id: \u007f\r", "id: " + strings.Repeat("i", 1024) + "\n",
	"id: " + strings.Repeat("i", 1025) + "\n", ": " + strings.Repeat("c", 1100) + "\r\n", "id: \xf4\x90\x80\x80\n", "id: \xed\xa0\x80\n", "id: \xc1\x81\n", "id: \xe0\x9f\xbf\n", "id: \xf0\x8f\xbf\xbf\n", "id: \U0001F600\n",
	"event: message\n", "event: ping\n", "event\n", "event:message\r\n", "event: " + strings.Repeat("message", 160) + "\n",
	"retry: 10\n", "retry: 0\n", "retry: 99999999999999\n", "retry: 2500\r", "retry: x\n", "retry:\n", "retry: 60000\n",
	": comment\n", ":\n", "\n", "\r", "\r\n", "\n\n", "\uFEFF", "\xEF\xBB", " ", "data: ", "data:x", "d", "da", "id: ", "ANSWER", "{NOTE}",
	"{\"WRONG_ID\":1}", "\x1b[31m\u202Ered\t\xff\u2028\u00e9\u4e2d\U000E0001!", strings.Repeat("x", 130), strings.Repeat("z", 1000),
	strings.Repeat("data: word\n", 40), strings.Repeat("\r\n", 70), strings.Repeat(":\n", 300),
}

// chunk returns the next bytes of a body: a part of what is still to be sent, or all.
func (d *twinRun) chunk(h uint32) []byte {
	rest := d.said[h]
	for range d.pick(4) {
		if d.odds(12) {
			rest = append(rest, byte(d.pick(256)), byte(d.pick(256)))
			continue
		}
		if d.odds(3) {
			rest = append(rest, strings.ReplaceAll(one(d, events), "\n", one(d, []string{"\n", "\r\n", "\r"}))...)
			continue
		}
		rest = append(rest, one(d, pieces)...)
	}
	n := len(rest)
	switch d.pick(4) {
	case 0, 1:
		n = min(n, d.pick(one(d, []int{4, 20, 150, 256})))
	case 2:
		if i := bytes.IndexByte(rest, '\r'); i >= 0 {
			n = i + 1 // between the halves of a line end, where there are two
		}
	}
	d.said[h] = slices.Clone(rest[n:])
	return rest[:n:n]
}

// saved is what an earlier instance left, most often what it can have left.
func (d *twinRun) saved() []byte {
	return []byte(one(d, []string{
		"epoch 1\nsession abc\nlast e-9\n", "epoch 2\n", "epoch 1\nsession a b", "epoch 4294967295\nlast " + strings.Repeat("e", 1024) + "\n",
		"", "\x00 ", "epoch x\nsession\nlast", "epoch 99999999999\nother\n\nlast 1\nlast 2", "epoch 1\nlast " + strings.Repeat("e", 1025),
		"epoch 007\nsession abc\nlast a\tb\n", "epoch +1\nepoch 1_0\nepoch 4294967297\nepoch ",
	}))
}
