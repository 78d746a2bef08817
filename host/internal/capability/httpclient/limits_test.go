//go:build unix

package httpclient

import (
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
)

// numbered are n headers with names and values of as many bytes together.
func numbered(n, size int) (pairs []abi.Pair) {
	for range n {
		pairs = append(pairs, abi.Pair{Key: "mcp-param-" + strings.Repeat("a", len(pairs)+1)})
		size -= len(pairs[len(pairs)-1].Key)
	}
	pairs[0].Value = strings.Repeat("x", max(0, size))
	return pairs
}

// A request may have so many headers of so many bytes, from a guest and from credentials.
func TestHeadersAtTheirLimits(t *testing.T) {
	for _, test := range []struct {
		n, size int
		want    abi.Status
	}{
		{MaxHeaders, 0, abi.OK}, {MaxHeaders + 1, 0, abi.TooLarge}, {2, MaxHeaderBytes, abi.OK}, {2, MaxHeaderBytes + 1, abi.TooLarge},
	} {
		if _, status, err := requestHeaders(numbered(test.n, test.size), false, 1); status != test.want {
			t.Errorf("%d headers of a guest, %d bytes: %v, %v", test.n, test.size, status, err)
		}
		pairs := numbered(test.n, test.size)
		for n := range pairs {
			pairs[n].Key = "X" + pairs[n].Key[1:]
		}
		if err := new(client).checkSigned(pairs); (err == nil) != (test.want == abi.OK) {
			t.Errorf("%d headers of credentials, %d bytes: %v", test.n, test.size, err)
		}
	}
}

func TestTokens(t *testing.T) {
	for text, want := range map[string]bool{
		"a": true, "!": true, "~": true, "x-1": true,
		"": false, "a b": false, "a\x7f": false, "a\xff": false, `a"b`: false, "a}": false, "a\x00": false,
	} {
		if IsToken(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestHostsInASCII(t *testing.T) {
	for host, want := range map[string]bool{"a": true, "a~": true, "a!": true, "a\x7f": false, "a b": false, "ä": false} {
		if err := checkBase(&url.URL{Scheme: "https", Host: host, Path: "/"}); (err == nil) != want {
			t.Errorf("%q: %v", host, err)
		}
	}
}

func TestLongestTarget(t *testing.T) {
	o, err := ParseOrigin("https://host.example/mcp")
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]abi.Status{MaxURL: abi.OK, MaxURL + 1: abi.TooLarge} {
		if _, status, err := o.resolve(o.base, "?"+strings.Repeat("x", size-1)); status != want {
			t.Errorf("%d bytes: %v, %v", size, status, err)
		}
	}
}

func TestPathsAsAServerReadsThem(t *testing.T) {
	for text, want := range map[string]string{"%41": "A", "%2541": "A", "a%2": "a%2", "%zz": "%zz", "%252e": "."} {
		if got := decodeAll(text); got != want {
			t.Errorf("%s is decoded to %s, want %s", text, got, want)
		}
	}
	for r, want := range map[rune]rune{'！': '!', '～': '~', 'Ａ': 'A', '！' - 1: '！' - 1, '～' + 1: '～' + 1, '\u200d': -1} {
		if got := compatible(r); got != want {
			t.Errorf("%q becomes %q, want %q", r, got, want)
		}
	}
	for segment, want := range map[string]bool{".": true, "..": true, "..;x": true, "...": true, "": false, ";..": false, "a": false, ".a": false} {
		if isDots(segment) != want {
			t.Errorf("%q: %v", segment, !want)
		}
	}
}

// An answer may be as long as it may be, and has an end of its own where its last bytes
// did not bring it.
func TestAnswerAtItsLimit(t *testing.T) {
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, capability.ChunkSize))
		w.(http.Flusher).Flush()
		if r.URL.RawQuery != "" {
			io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			time.Sleep(20 * time.Millisecond)
			io.WriteString(w, strings.Repeat("x", capability.ChunkSize))
		}
	})
	c := captest.Patient(grant)
	c.Limits.Answer = capability.ChunkSize
	table := captest.NewTable(t, c)
	r := post(t, table, "{}")
	captest.WantOrder(t, r, "head end")
	if len(r.Bytes) != capability.ChunkSize {
		t.Errorf("%d bytes, %v", len(r.Bytes), r.Err)
	}
	r, _ = ask(t, table, "POST", "?more", "{}")
	captest.WantError(t, r, abi.TooLarge, "longer than")
}

func TestEndOfAnEventStream(t *testing.T) {
	_, grant := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: x\n\n")
		w.(http.Flusher).Flush()
		time.Sleep(20 * time.Millisecond)
	})
	r := post(t, captest.NewTable(t, captest.Patient(grant)), "{}")
	captest.WantOrder(t, r, "head data end")
}

func TestRefusalOfWhatWasNotSigned(t *testing.T) {
	for _, sent := range [][]abi.Pair{nil, {{Key: "Authorization", Value: "Bearer x"}}} {
		c := &transaction{}
		c.client, c.sent = &client{origin: &Origin{Keys: []string{"X-Key"}}}, sent
		r := c.refusal(&http.Response{StatusCode: 401, Header: http.Header{}}, nil)
		if r.Signed != (len(sent) > 0) || r.Signed == (len(r.Keys) > 0) {
			t.Errorf("with %d headers of credentials it counts as signed: %v, with the keys %q", len(sent), r.Signed, r.Keys)
		}
	}
}

// A server that leads to a sign-in does not refuse the key that it was sent.
func TestRefusalThatLeadsToASignIn(t *testing.T) {
	c := &transaction{}
	c.client = &client{origin: &Origin{Keys: []string{"X-Key"}}}
	header := http.Header{"Www-Authenticate": {`Bearer resource_metadata="https://a.example/x"`}}
	if r := c.refusal(&http.Response{StatusCode: 401, Header: header}, nil); len(r.Keys) > 0 {
		t.Errorf("it refuses %q", r.Keys)
	}
}

func TestProxyThatIsNone(t *testing.T) {
	wrong := errors.New("wrong")
	for _, want := range []error{nil, wrong} {
		c := &client{dialer: dial.New(capability.Limits{}.Dial)}
		proxy := c.trustProxies(func(*http.Request) (*url.URL, error) { return nil, want })
		if u, err := proxy(&http.Request{}); u != nil || err != want {
			t.Errorf("%v, %v", u, err)
		}
	}
}

func TestWhoClosedAConnection(t *testing.T) {
	const server = "the server closed the connection without an answer"
	for _, test := range []struct {
		op   string
		err  error
		want bool
	}{{"write", net.ErrClosed, true}, {"read", net.ErrClosed, false}, {"write", syscall.EPIPE, false}} {
		got := Explain(&net.OpError{Op: test.op, Net: "tcp", Err: test.err}).Error()
		if strings.Contains(got, server) != test.want {
			t.Errorf("%s, %v: %s", test.op, test.err, got)
		}
	}
}

// The clock of an upload goes over to that of the head when all is sent, and not later.
func TestClockOfAnUpload(t *testing.T) {
	w, _ := patienceOf(time.Hour)
	w.await(forUpload)
	w.onSent(false)
	if now := phase(w.phase.Load()); now != forUpload {
		t.Errorf("phase %d while it is sent", now)
	}
	w.onSent(true)
	if now := phase(w.phase.Load()); now != forHead {
		t.Errorf("phase %d when all is sent", now)
	}
	w.await(forBody)
	w.onSent(true)
	if now := phase(w.phase.Load()); now != forBody {
		t.Errorf("phase %d after the head", now)
	}
	w.stop()
	w.recycle()
}

// Only a body that is whole, large and the first is borrowed; any other is copied, and
// its owner has it back at once.
func TestWhatIsNotBorrowed(t *testing.T) {
	for name, test := range map[string]struct {
		first    string
		size     int
		end      bool
		borrowed bool
	}{
		"whole":             {"", inMemory + 1, true, true},
		"small enough":      {"", inMemory, true, false},
		"more to come":      {"", inMemory + 1, false, false},
		"behind the first":  {"a", inMemory + 1, true, false},
		"a part of a whole": {"a", inMemory + 1, false, false},
	} {
		x := newExchange(captest.Opening(t, captest.NewRecorder()), request{})
		x.Write([]byte(test.first), false)
		l := newLoan(test.size)
		x.Borrow(l.body, test.end, l)
		select {
		case <-l.freed:
			if test.borrowed {
				t.Errorf("%s: it was given back", name)
			}
		default:
			if !test.borrowed {
				t.Errorf("%s: it was borrowed", name)
			}
		}
		if want := test.first + strings.Repeat("x", test.size); string(x.body) != want || x.ending != test.end || x.Queued() != len(want) {
			t.Errorf("%s: %d bytes, ending %v, %d queued", name, len(x.body), x.ending, x.Queued())
		}
	}
}

// A body that fits into the buffers of a connection counts as sent, and a caller may
// carry its exchange; a larger one does not, and a caller may not.
func TestLargestBodyInMemory(t *testing.T) {
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	table := warmTable(t, grant)
	for size, want := range map[int]bool{inMemory: true, inMemory + 1: false} {
		p, _ := openInline(t, table, "POST", strings.Repeat("x", size))
		if offered := p.errand != nil; offered != want {
			t.Errorf("%d bytes: offered %v", size, offered)
		}
		if p.errand != nil {
			p.errand.Run()
		}
		p.UntilOver()
		noHandles(table)
	}
}

// After the end of a body, or more than is held, nothing is borrowed any more, and the
// owner has its bytes back at once.
func TestNothingIsBorrowedAfterTheEnd(t *testing.T) {
	for name, before := range map[string]func(x *exchange){
		"after the end":           func(x *exchange) { x.Write(nil, true) },
		"after more than is held": func(x *exchange) { x.Write(make([]byte, x.Limits().Bodies+1), false) },
		"after the close":         func(x *exchange) { x.Close() },
	} {
		x := newExchange(captest.Opening(t, captest.NewRecorder()), request{})
		before(x)
		l, tooLarge := newLoan(inMemory+1), x.tooLarge
		x.Borrow(l.body, true, l)
		if len(x.body) != 0 || x.owner != nil || x.Queued() != 0 || x.tooLarge != tooLarge || !x.ending {
			t.Errorf("%s: %d bytes, too large %v, ending %v", name, len(x.body), x.tooLarge, x.ending)
		}
		select {
		case <-l.freed:
		default:
			t.Errorf("%s: the loan was not given back", name)
		}
	}
}

// A body that fits into the buffers of a connection counts as sent at once; of a larger
// one net/http tells what is left.
func TestFlushOfABody(t *testing.T) {
	for size, want := range map[int]int{0: 0, inMemory: 0, inMemory + 1: inMemory + 1} {
		x := newExchange(captest.Opening(t, captest.NewRecorder()), request{})
		x.state.Store(dropped) // it is not run
		x.Write(make([]byte, size), false)
		if x.Flush(); x.Queued() != size {
			t.Errorf("%d bytes: %d queued before the end", size, x.Queued())
		}
		x.Write(nil, true)
		if x.Flush(); x.Queued() != want || (x.left != nil) != (want > 0) {
			t.Errorf("%d bytes: %d queued, told of what is left: %v", size, x.Queued(), x.left != nil)
		}
	}
}

// Requests whose guest gives the same pairs have one header, with the user's own in it.
func TestRequestsShareTheirHeader(t *testing.T) {
	o, err := ParseOrigin("http://h/mcp")
	if err != nil {
		t.Fatal(err)
	}
	o.Headers = []abi.Pair{{Key: "X-Own", Value: "o"}}
	c := newClient(o, &capability.Limits{})
	made := func(upgrade bool, pairs ...abi.Pair) request {
		q := request{client: c, upgrade: upgrade}
		if status, err := q.setHeader(pairs); err != nil || status != abi.OK {
			t.Fatal(status, err)
		}
		return q
	}
	accept, name := abi.Pair{Key: "accept", Value: "a"}, abi.Pair{Key: "mcp-name", Value: "n"}
	if q := made(false, accept); q.whole || q.header["X-Own"] != nil {
		t.Errorf("before the client is prepared: %v", q.header)
	}
	if err := c.prepare(); err != nil {
		t.Fatal(err)
	}
	first := made(false, accept)
	want := http.Header{"Accept": {"a"}, "X-Own": {"o"}, "User-Agent": {UserAgent}}
	if !first.whole || !maps.EqualFunc(first.header, want, slices.Equal) {
		t.Errorf("%v, whole %v", first.header, first.whole)
	}
	same := func(q request) bool {
		return reflect.ValueOf(q.header).Pointer() == reflect.ValueOf(first.header).Pointer()
	}
	if !same(made(false, accept)) {
		t.Error("the same pairs made another header")
	}
	if q := made(true, accept); same(q) || q.whole {
		t.Error("an upgrade, which adds to its header, shares it")
	}
	if q := made(false, accept, name); same(q) || q.header["Mcp-Name"] == nil || first.header["Mcp-Name"] != nil {
		t.Errorf("other pairs: %v", q.header)
	}
}
