//go:build unix

package httpclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// inlineRecorder is a recorder that takes the errands of its exchange.
type inlineRecorder struct {
	*captest.Recorder
	errand hostio.InlineIO
}

func (p *inlineRecorder) OfferInline(e hostio.InlineIO) bool {
	p.errand = e
	return true
}

// openInline asks as ask does, and returns the recorder, which may have work to run inline now.
func openInline(t *testing.T, table *capability.Table, method, body string) (*inlineRecorder, hostio.Stream) {
	t.Helper()
	p := &inlineRecorder{Recorder: captest.NewRecorder()}
	s, _, err := table.Open(abi.OpenHTTP, &abi.OpenRequest{Grant: "main", Method: method}, p)
	if err != nil {
		t.Fatal(err)
	}
	s.Write([]byte(body), true)
	s.Flush()
	return p, s
}

// warmTable returns a table that has been used, and that nothing is left in.
func warmTable(t *testing.T, grant capability.Grant) *capability.Table {
	table := captest.NewTable(t, captest.Patient(grant))
	post(t, table, "{}")
	noHandles(table)
	return table
}

// noHandles waits until all have left: the sink of an exchange hears its last word
// before the table knows that it is over.
func noHandles(table *capability.Table) {
	for table.Usage().Handles > 0 {
		runtime.Gosched()
	}
}

func TestAnErrandHasTheAnswerWithIt(t *testing.T) {
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	table := warmTable(t, grant)
	p, s := openInline(t, table, "POST", "hello")
	if p.errand == nil {
		t.Fatal("the errand was not offered")
	}
	if order := p.Order(); order != "" {
		t.Errorf("the sink heard %q before the exchange ran", order)
	}
	p.errand.Run()
	if order := p.Order(); order != "head" || !p.Last || string(p.Bytes) != "hello" || p.Length != 5 {
		t.Errorf("after Run: %q, %q, last %v, length %d", order, p.Bytes, p.Last, p.Length)
	}
	p.errand.Stop()
	s.Close()
	if u := table.Usage(); u.Exchanges != 0 || u.Bodies != 0 {
		t.Errorf("%d exchanges and %d bytes are left", u.Exchanges, u.Bodies)
	}
}

// A stream of one piece needs no goroutine of the table.
func TestAnErrandHasTheEventWithIt(t *testing.T) {
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write([]byte("data: {}\n\n"))
	})
	p, _ := openInline(t, warmTable(t, grant), "POST", "{}")
	p.errand.Run()
	if order := p.Order(); order != "head data" && order != "head data end" || string(p.Bytes) != "data: {}\n\n" {
		t.Errorf("after Run: %q, %q", order, p.Bytes)
	}
}

func TestAFailureIsSaidByWhoCarries(t *testing.T) {
	n := atomic.Int32{}
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) > 1 {
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
		}
	})
	p, _ := openInline(t, warmTable(t, grant), "POST", "{}")
	p.errand.Run()
	if order := p.Order(); order != "error" || p.Status != abi.Reset {
		t.Errorf("%q, %v, %v", order, p.Status, p.Err)
	}
}

// What takes long is left to the table as soon as that shows.
func TestALongAnswerMovesOff(t *testing.T) {
	for name, media := range map[string]string{"stream": "text/event-stream", "body": "application/json"} {
		t.Run(name, func(t *testing.T) {
			on := make(chan struct{})
			n := atomic.Int32{}
			_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1) == 1 {
					return
				}
				w.Header().Set("Content-Type", media)
				w.Write(make([]byte, capability.ChunkSize+1))
				w.(http.Flusher).Flush()
				<-on
				w.Write([]byte("end"))
			})
			p, _ := openInline(t, warmTable(t, grant), "POST", "{}")
			p.errand.Run() // returns, though the answer has no end
			p.UntilData(capability.ChunkSize)
			close(on)
			p.UntilOver()
			if p.Err != nil || len(p.Bytes) != capability.ChunkSize+4 {
				t.Errorf("%d bytes, %v", len(p.Bytes), p.Err)
			}
		})
	}
}

// A caller that leaves does not wait for the server, nor for the sink.
func TestStopEndsRun(t *testing.T) {
	for _, early := range []bool{false, true} {
		arrived := make(chan struct{}, 1)
		n := atomic.Int32{}
		_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if io.Copy(io.Discard, r.Body); n.Add(1) == 1 {
				return
			}
			arrived <- struct{}{}
			<-r.Context().Done()
		})
		p, _ := openInline(t, warmTable(t, grant), "POST", "{}")
		p.HoldAt = "error"
		if early {
			p.errand.Stop()
		} else {
			go func() { <-arrived; p.errand.Stop() }()
		}
		p.errand.Run()
		close(p.Release)
		captest.WantError(t, p.Recorder, abi.Closed, "no longer waits")
	}
}

// A close of the table ends what a caller carries; nothing is heard of it.
func TestCloseEndsAnErrand(t *testing.T) {
	arrived := make(chan struct{}, 1)
	n := atomic.Int32{}
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if io.Copy(io.Discard, r.Body); n.Add(1) > 1 {
			arrived <- struct{}{}
			<-r.Context().Done()
		}
	})
	table := warmTable(t, grant)
	p, _ := openInline(t, table, "POST", "{}")
	go func() { <-arrived; table.Close(context.Background()) }()
	p.errand.Run()
	captest.CloseTable(t, table)
	if order := p.Order(); order != "" {
		t.Errorf("the sink heard %q", order)
	}
}

// No caller is held up by files that are read first, by credentials or by a body
// that goes out bit by bit.
func TestWhatIsNoErrand(t *testing.T) {
	o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	table := captest.NewTable(t, captest.Patient(grant))
	never := func(name, method, body string) {
		p, _ := openInline(t, table, method, body)
		if p.errand != nil {
			t.Fatalf("%s: it was offered", name)
		}
		p.UntilOver()
	}
	never("cold", "POST", "{}")
	never("large", "POST", string(make([]byte, inMemory+1)))
	o.Credentials = apply(func(context.Context, *Request) ([]abi.Pair, error) { return nil, nil })
	never("signed", "POST", "{}")
	o.Credentials = &immediate{at: false}
	never("to be signed in to", "POST", "{}")

	always := func(name string) {
		p, _ := openInline(t, table, "POST", "{}")
		if p.errand == nil {
			t.Fatalf("%s: it was not offered", name)
		}
		p.errand.Run()
	}
	o.Credentials = &immediate{at: true}
	always("signed in to")
	o.Credentials, o.SignedMethods = &immediate{at: false}, []string{"DELETE"}
	always("not signed")
}

// immediate are credentials that know whether they have to be waited for.
type immediate struct{ at bool }

func (p *immediate) AppliesAtOnce() bool                                 { return p.at }
func (p *immediate) Apply(context.Context, *Request) ([]abi.Pair, error) { return nil, nil }
func (p *immediate) Challenge(context.Context, *Challenge) (bool, error) { return false, nil }
func (p *immediate) Nonce(string)                                        {}

// A challenge that takes as long as a person does not keep a caller who leaves.
func TestStopEndsAChallenge(t *testing.T) {
	n := atomic.Int32{}
	o, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if io.Copy(io.Discard, r.Body); n.Add(1) > 1 {
			w.WriteHeader(401)
		}
	})
	table := warmTable(t, grant)
	c := &patientCreds{asked: make(chan struct{})}
	o.Credentials = c
	p, _ := openInline(t, table, "POST", "{}")
	go func() { <-c.asked; p.errand.Stop() }()
	p.errand.Run()
	captest.WantError(t, p.Recorder, abi.Closed, "no longer waits")
}

// patientCreds are credentials that wait in Challenge.
type patientCreds struct {
	immediate
	asked chan struct{}
}

func (s *patientCreds) AppliesAtOnce() bool { return true }
func (s *patientCreds) Challenge(ctx context.Context, _ *Challenge) (bool, error) {
	close(s.asked)
	<-ctx.Done()
	return false, context.Cause(ctx)
}

// loan is what a body is borrowed from.
type loan struct {
	body  []byte
	freed chan struct{}
}

// Free spoils the body: it may not be read any more.
func (l *loan) Free() {
	clear(l.body)
	close(l.freed) // panics when it is closed twice
}

func newLoan(n int) *loan {
	return &loan{bytes.Repeat([]byte("x"), n), make(chan struct{})}
}

// lend sends a body that is borrowed.
func lend(t *testing.T, table *capability.Table, l *loan) (*captest.Recorder, hostio.Stream) {
	t.Helper()
	r := captest.NewRecorder()
	s, _, err := table.Open(abi.OpenHTTP, &abi.OpenRequest{Grant: "main", Method: "POST"}, r)
	if err != nil {
		t.Fatal(err)
	}
	s.(*exchange).Borrow(l.body, true, l)
	s.Flush()
	return r, s
}

func TestALargeBodyIsBorrowed(t *testing.T) {
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" { // it is sent twice
			http.Redirect(w, r, "/mcp/there", http.StatusTemporaryRedirect)
			return
		}
		all, _ := io.ReadAll(r.Body)
		w.Write(all[len(all)-10:])
		if bytes.Count(all, []byte("x")) != len(all) || int64(len(all)) != r.ContentLength {
			t.Error("the body is not what was lent")
		}
	})
	table := captest.NewTable(t, captest.Patient(grant))
	l := newLoan(1 << 20)
	r, _ := lend(t, table, l)
	r.UntilOver()
	if <-l.freed; string(r.Bytes) != "xxxxxxxxxx" {
		t.Errorf("%q, %v", r.Bytes, r.Err)
	}
	small := newLoan(10)
	r, _ = lend(t, table, small)
	if <-small.freed; table.Usage().Bodies < 0 {
		t.Error("what is held was counted wrong")
	}
	r.UntilOver()
}

// net/http may still be sending when the answer is there. What it reads then is
// not what is written in the same place later.
func TestABorrowedBodyIsTakenBack(t *testing.T) {
	l := newLoan(inMemory + 1)
	x := newExchange(captest.Opening(t, captest.NewRecorder()), request{})
	x.body, x.owner = l.body, l
	x.phaseTimer.await(forHead)
	defer x.recycle()
	sending, _ := x.reader()
	p := make([]byte, 10)
	if n, err := sending.Read(p); n != 10 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	x.freeBody()
	<-l.freed
	if n, err := sending.Read(p); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("%d bytes of what is gone, %v", n, err)
	}
}

// A body that is never sent is not held.
func TestABorrowedBodyOfNoUse(t *testing.T) {
	_, grant := serve(t, func(w http.ResponseWriter, r *http.Request) { t.Error("a request was sent") })
	c := captest.Patient(grant)
	c.Limits.Bodies = 1 << 20
	table := captest.NewTable(t, c)
	r, _ := lend(t, table, newLoan(2<<20))
	captest.WantError(t, r, abi.TooLarge, "hold more than")

	l := newLoan(1 << 19)
	s, _, _ := table.Open(abi.OpenHTTP, &abi.OpenRequest{Grant: "main", Method: "POST"}, captest.NewRecorder())
	s.Close()
	s.(*exchange).Borrow(l.body, true, l)
	s.Flush()
	if held := table.Usage().Bodies; held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}
