//go:build !wasip1

package sdk_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// script is a transport made of functions; one that is nil does nothing.
type script struct {
	open    func(c *sdk.Conn, s *abi.Settings) error
	message func(m sdk.Message) (sdk.Outcome, error)
	handle  func(e sdk.Event) error
}

func (s script) Open(c *sdk.Conn, settings *abi.Settings) error {
	if s.open == nil {
		return nil
	}
	return s.open(c, settings)
}

func (s script) Message(m sdk.Message) (sdk.Outcome, error) {
	if s.message == nil {
		return sdk.HandedOver, nil
	}
	return s.message(m)
}

func (s script) Handle(e sdk.Event) error {
	if s.handle == nil {
		return nil
	}
	return s.handle(e)
}

func host(s script) *sdktest.Host { return sdktest.New(abi.Manifest{Name: "script"}, s) }

func TestDescribe(t *testing.T) {
	want := abi.Manifest{Name: "loft", Version: "1", Probe: abi.ProbeHTTP}
	got, err := sdktest.New(want, script{}).Describe()
	if err != nil || got.Name != want.Name || got.Probe != want.Probe {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestOpenGetsTheSettings(t *testing.T) {
	var got *abi.Settings
	h := host(script{open: func(_ *sdk.Conn, s *abi.Settings) error { got = s; return nil }})
	if r := h.Open(&abi.Settings{Server: "notes", MessageCap: 7}); r != 0 || got.Server != "notes" || got.MessageCap != 7 {
		t.Errorf("OPEN = %d, settings %+v", r, got)
	}
}

// An error becomes a status and, before it, a text that a user can read.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status abi.Status
	}{
		{errors.New("not a loft"), abi.ProtocolFailed},
		{sdk.Fail(abi.TooLarge, "too heavy for a pigeon"), abi.TooLarge},
		{fmt.Errorf("feed: %w", sdk.Fail(abi.NotFound, "no corn")), abi.NotFound},
		{sdk.Fail(abi.OK, "an error that says all is well"), abi.ProtocolFailed},
		{fmt.Errorf("head: %w", abi.ErrMalformed), abi.Malformed},
	} {
		s := script{
			open:    func(*sdk.Conn, *abi.Settings) error { return tt.err },
			message: func(sdk.Message) (sdk.Outcome, error) { return sdk.HandedOver, tt.err },
			handle:  func(sdk.Event) error { return tt.err },
		}
		h := host(s)
		results := []int32{h.Open(&abi.Settings{}), h.Message(1, &abi.Facts{}, "{}"), h.Data(1, 0, nil)}
		if want := int32(tt.status); !slices.Equal(results, []int32{want, want, want}) {
			t.Errorf("%v: results %v, want %d", tt.err, results, want)
		}
		for _, r := range h.Reports {
			if want := (sdktest.Report{What: abi.ReportFailed, Status: tt.status, Text: tt.err.Error()}); r != want {
				t.Errorf("reported %+v, want %+v", r, want)
			}
		}
		if len(h.Reports) != 3 {
			t.Errorf("%v: %d reports", tt.err, len(h.Reports))
		}
	}
}

func TestSettingsThatDoNotDecode(t *testing.T) {
	h := host(script{open: func(*sdk.Conn, *abi.Settings) error { panic("not to be called") }})
	if r := h.Event(abi.EventOpen, 0, 0, []byte{9, 0, 0, 0}); r != int32(abi.Malformed) {
		t.Errorf("OPEN = %d", r)
	}
}

func TestEveryKindReachesTheTransport(t *testing.T) {
	var got []abi.Kind
	h := host(script{handle: func(e sdk.Event) error { got = append(got, e.Kind); return nil }})
	var want []abi.Kind
	for k := abi.EventCancel; k <= abi.EventClose; k++ {
		want = append(want, k)
		h.Event(k, 1, 0, nil)
	}
	for _, k := range []abi.Kind{0, abi.EventClose + 1, 1<<32 - 1} {
		if r := h.Event(k, 1, 0, nil); r != 0 {
			t.Errorf("event %v = %d", k, r)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("handled %v, want %v", got, want)
	}
}

func TestEventAccessors(t *testing.T) {
	for _, tt := range []struct {
		kind abi.Kind
		arg  uint32
		last bool
	}{
		{abi.EventData, 0, false},
		{abi.EventData, abi.Last, true},
		{abi.EventHead, 200, false},
		{abi.EventHead, 200 | abi.HeadLast, true},
		{abi.EventEnd, 0, true},
		{abi.EventExit, 1, false},
	} {
		host(script{handle: func(e sdk.Event) error {
			if e.Last() != tt.last {
				t.Errorf("%v %d: Last = %v", tt.kind, tt.arg, e.Last())
			}
			if tt.kind == abi.EventHead && e.HTTPStatus() != 200 {
				t.Errorf("HTTPStatus = %d", e.HTTPStatus())
			}
			return nil
		}}).Event(tt.kind, 1, tt.arg, nil)
	}
	host(script{handle: func(e sdk.Event) error {
		if e.Status() != abi.Reset || e.ExitCode() != int(abi.Reset) || e.Handle.ID() != 7 {
			t.Errorf("got %v %d %d", e.Status(), e.ExitCode(), e.Handle.ID())
		}
		return nil
	}}).Event(abi.EventError, 7, 1<<32-9, nil)
}

func TestMessage(t *testing.T) {
	facts := abi.Facts{Kind: abi.Request, ID: "7", Method: "tools/call"}
	const body = `{"jsonrpc":"2.0","id":7}`
	h := host(script{message: func(m sdk.Message) (sdk.Outcome, error) {
		got, err := m.Facts()
		if err != nil || string(got.Method()) != facts.Method || string(got.ID()) != facts.ID {
			t.Errorf("facts %+v, %v", got, err)
		}
		if string(m.Bytes()) != body || m.Exchange != 3 {
			t.Errorf("message %q of %d", m.Bytes(), m.Exchange)
		}
		return m.Fail(abi.LimitReached, "no pigeon is free")
	}})
	if r := h.Message(3, &facts, body); r != abi.Later {
		t.Errorf("MESSAGE = %d", r)
	}
	if want := (sdktest.Report{What: abi.ReportFailed, Exchange: 3, Status: abi.LimitReached, Text: "no pigeon is free"}); h.Reports[0] != want {
		t.Errorf("reported %+v", h.Reports[0])
	}
}

func TestHead(t *testing.T) {
	block := abi.AppendHead(nil, &abi.Head{Headers: []abi.Pair{{Key: "content-type", Value: "text/event-stream"}}})
	h := host(script{handle: func(e sdk.Event) error {
		head, body, err := e.Head()
		if err != nil {
			return err
		}
		if string(head.Value("content-type")) != "text/event-stream" || string(body.Bytes()) != "data: 1\n" {
			t.Errorf("head %+v, body %q", head, body.Bytes())
		}
		if i := body.Scan(abi.PackNeedles("\n")); i != 7 {
			t.Errorf("newline at %d of the body", i)
		}
		return nil
	}})
	if r := h.Event(abi.EventHead, 1, 200, append(block, "data: 1\n"...)); r != 0 {
		t.Errorf("HEAD = %d", r)
	}
	for _, bad := range [][]byte{nil, {1, 0}, {200, 0, 0, 0}, {255, 255, 255, 255, 1}} {
		if r := h.Event(abi.EventHead, 1, 200, bad); r != int32(abi.Malformed) {
			t.Errorf("HEAD of % x = %d", bad, r)
		}
	}
}
