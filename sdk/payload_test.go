//go:build !wasip1

package sdk_test

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// onData runs f in a DATA event with this payload.
func onData(payload string, f func(sdk.Payload)) *sdktest.Host {
	h := host(script{handle: func(e sdk.Event) error { f(e.Payload); return nil }})
	h.Data(1, 0, []byte(payload))
	return h
}

func TestPayloadIsAWindow(t *testing.T) {
	onData("0123456789", func(p sdk.Payload) {
		for _, tt := range []struct {
			got  sdk.Payload
			want string
		}{
			{p, "0123456789"},
			{p.Slice(2, 5), "234"},
			{p.Slice(2, 5).Slice(1, 3), "34"},
			{p.From(7), "789"},
			{p.From(7).From(1), "89"},
			{p.From(10), ""},
			{p.Slice(3, 3), ""},
		} {
			if got := string(tt.got.Bytes()); got != tt.want || tt.got.Len() != len(tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		}
	})
}

func TestSliceOutOfRange(t *testing.T) {
	onData("0123456789", func(p sdk.Payload) {
		p = p.Slice(2, 8)
		for _, r := range [][2]int{{-1, 2}, {4, 3}, {0, 7}, {7, 8}, {1 << 40, 1<<40 + 1}} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("Slice(%d, %d) of 6 bytes", r[0], r[1])
					}
				}()
				p.Slice(r[0], r[1])
			}()
		}
	})
}

// A window ends where it ends: scan and take look no further, though the host
// has more.
func TestScanAndTakeStayInside(t *testing.T) {
	newline := abi.PackNeedles("\n")
	onData("ab\ncd\n", func(p sdk.Payload) {
		for _, tt := range []struct{ from, to, want int }{
			{0, 6, 2}, {0, 3, 2}, {0, 2, -1}, {3, 6, 2}, {3, 5, -1}, {6, 6, -1}, {2, 3, 0},
		} {
			if got := p.Slice(tt.from, tt.to).Scan(newline); got != tt.want {
				t.Errorf("Scan of %d to %d = %d, want %d", tt.from, tt.to, got, tt.want)
			}
		}
		var buf [4]byte
		if n := p.Slice(1, 3).Take(buf[:]); string(buf[:n]) != "b\n" {
			t.Errorf("took %q", buf[:n])
		}
		if n := p.Take(nil); n != 0 {
			t.Errorf("took %d bytes into nothing", n)
		}
	})
}

func TestDeliverAndForward(t *testing.T) {
	const note = `{"jsonrpc":"2.0","method":"x"}`
	h := host(script{
		open: func(c *sdk.Conn, _ *abi.Settings) error {
			_, err := c.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main"})
			return err
		},
		handle: func(e sdk.Event) error {
			if v := e.Slice(1, 11).Deliver(5, abi.More); v != abi.VerdictPending {
				t.Errorf("part: %v", v)
			}
			if v := e.Conn().Deliver(5, []byte(note[10:]), abi.End); v != abi.VerdictNote {
				t.Errorf("whole: %v", v)
			}
			e.Handle.Write([]byte("to "), abi.More)
			e.Handle.Forward(e.From(1), abi.End)
			return nil
		},
	})
	h.Open(&abi.Settings{})
	h.Data(1, 0, []byte(" "+note))
	if want := (sdktest.Delivery{Exchange: 5, Message: note, Verdict: abi.VerdictNote}); len(h.Delivered) != 1 || h.Delivered[0] != want {
		t.Errorf("delivered %+v", h.Delivered)
	}
	if got := string(h.Written[1]); got != "to "+note || !h.Ended[1] {
		t.Errorf("wrote %q, end %v", got, h.Ended[1])
	}
}

// A payload that is kept means nothing once its event is over.
func TestKeptPayloadTraps(t *testing.T) {
	var kept sdk.Payload
	h := host(script{handle: func(e sdk.Event) error {
		if kept.Len() == 0 {
			kept = e.Payload
		}
		kept.Deliver(0, abi.End)
		return nil
	}})
	h.Data(1, 0, []byte("abc"))
	if h.Data(1, 0, []byte("x")); h.Trap != "bytes 0 to 3 of a payload of 1" {
		t.Errorf("trap: %q", h.Trap)
	}
}

func TestConn(t *testing.T) {
	h := host(script{open: func(c *sdk.Conn, _ *abi.Settings) error {
		c.Up()
		c.Done(2)
		c.Expired(3, "gone")
		c.Ended()
		c.Timer(1, 500)
		c.Timer(2, 500)
		c.Timer(1, 0)
		c.Save([]byte("state"))
		c.Log(abi.LevelInfo, "hello")
		return nil
	}})
	h.Open(&abi.Settings{})
	want := []sdktest.Report{
		{What: abi.ReportUp},
		{What: abi.ReportDone, Exchange: 2},
		{What: abi.ReportExpired, Exchange: 3, Text: "gone"},
		{What: abi.ReportEnded},
	}
	for i, r := range h.Reports {
		if r != want[i] {
			t.Errorf("reported %+v, want %+v", r, want[i])
		}
	}
	if len(h.Timers) != 1 || h.Timers[2] != 500 || string(h.Saved) != "state" || h.Logs[0] != "INFO hello" {
		t.Errorf("timers %v, saved %q, logs %q", h.Timers, h.Saved, h.Logs)
	}
}

func TestHandles(t *testing.T) {
	var first, second sdk.Handle
	h := host(script{open: func(c *sdk.Conn, _ *abi.Settings) (err error) {
		r := abi.OpenRequest{Grant: "main"}
		if first, err = c.Open(abi.OpenStream, 0, &r); err != nil {
			return err
		}
		first.Close()
		second, err = c.Open(abi.OpenStream, 0, &r)
		for err == nil {
			_, err = c.Open(abi.OpenStream, 0, &r)
		}
		return err
	}})
	if r := h.Open(&abi.Settings{}); r != int32(abi.LimitReached) || h.Reports[0].Text != "open stream main: LIMIT" {
		t.Errorf("OPEN = %d, %+v", r, h.Reports)
	}
	if first == second || second == (sdk.Handle{}) {
		t.Errorf("handles %v and %v", first, second)
	}
	for name, closed := range map[string]sdk.Handle{"zero": {}, "closed": first} {
		if s := closed.Write([]byte("x"), abi.More); s != abi.Closed {
			t.Errorf("%s: Write = %v", name, s)
		}
		if s := closed.Forward(sdk.Payload{}, abi.More); s != abi.Closed {
			t.Errorf("%s: Forward = %v", name, s)
		}
		if s := closed.Close(); s != abi.Closed {
			t.Errorf("%s: Close = %v", name, s)
		}
	}
	if s := second.Close(); s != abi.OK {
		t.Errorf("Close = %v", s)
	}
}

// A sealed payload can be passed on, in parts too, and tells nothing.
func TestSealedPayload(t *testing.T) {
	h := host(script{
		open: func(c *sdk.Conn, _ *abi.Settings) error {
			c.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main"})
			c.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main"})
			return nil
		},
		handle: func(e sdk.Event) error {
			if !e.Sealed() || e.Len() != 6 {
				t.Errorf("Sealed is %v, %d bytes", e.Sealed(), e.Len())
			}
			buf := []byte("......")
			if n := e.Take(buf); n != 0 || string(buf) != "......" || len(e.Bytes()) != 0 {
				t.Errorf("took %d: %q", n, buf)
			}
			if i, v := e.Scan(abi.PackNeedles("s3cr")), e.Deliver(0, abi.End); i != -1 || v != abi.Verdict(abi.Denied) {
				t.Errorf("found at %d, delivered as %v", i, v)
			}
			e.Handle.Forward(e.From(3), abi.More)
			e.Handle.Forward(e.Slice(0, 3), abi.More)
			return nil
		},
	})
	h.Open(&abi.Settings{})
	h.Sealed(1, []byte("s3cret"))
	if got := string(h.Written[1]); got != "rets3c" || len(h.Delivered) != 0 {
		t.Errorf("written %q, delivered %v", got, h.Delivered)
	}
	for _, e := range h.Entries() {
		if strings.Contains(e.Line+string(e.Bytes), "s3cret") {
			t.Errorf("the trace has it: %q", e)
		}
	}
}
