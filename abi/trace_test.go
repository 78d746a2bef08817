package abi

import "testing"

func TestTraceEvents(t *testing.T) {
	for _, tt := range []struct {
		kind              Kind
		handle, arg, size uint32
		want              string
	}{
		{EventMessage, 51, 3, 300, "--> event(MESSAGE, 51, 3, 300)"},
		{EventCancel, 0, 3, 0, "--> event(CANCEL, 0, 3, 0)"},
		{EventHead, 257, 200, 12, "--> event(HEAD, 257, 200, 12)"},
		{EventHead, 257, 404 | HeadLast, 4, "--> event(HEAD, 257, 404+LAST, 4)"},
		{EventOpened, 1, 0, 0, "--> event(OPENED, 1, 0, 0)"},
		{EventOpened, 1, Sealed, 24, "--> event(OPENED, 1, SEALED, 24)"},
		{EventOpened, 1, 2, 24, "--> event(OPENED, 1, 2, 24)"},
		{EventData, 1, 0, 212, "--> event(DATA, 1, 0, 212)"},
		{EventData, 1, Last, 212, "--> event(DATA, 1, LAST, 212)"},
		{EventData, 1, 6, 212, "--> event(DATA, 1, 6, 212)"},
		{EventError, 1, uint32(1<<32 + int64(Reset)), 9, "--> event(ERROR, 1, RESET, 9)"},
		{EventExit, 1, 137, 0, "--> event(EXIT, 1, 137, 0)"},
		{EventExit, 1, 1<<32 - 1, 0, "--> event(EXIT, 1, -1, 0)"},
		{Kind(77), 1, 2, 3, "--> event(event(77), 1, 2, 3)"},
	} {
		if got := string(AppendEvent(nil, tt.kind, tt.handle, tt.arg, tt.size)); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestTraceCalls(t *testing.T) {
	const ptr = 66048
	for _, tt := range []struct {
		call   Call
		args   []uint32
		result int32
		want   string
	}{
		{CallTake, []uint32{4, ptr, 16}, 12, "take(4, 16) = 12"},
		{CallTake, []uint32{4, ptr, 16}, 0, "take(4, 16) = 0"},
		{CallTake, []uint32{4, ptr, 16}, int32(Denied), "take(4, 16) = DENIED"},
		{CallScan, []uint32{0, PackNeedles("\n")}, 211, `scan(0, "\n") = 211`},
		{CallScan, []uint32{0, PackNeedles("\r\n")}, -1, `scan(0, "\r\n") = -1`},
		{CallScan, []uint32{0, PackNeedles("\n")}, 0, `scan(0, "\n") = 0`},
		{CallDeliver, []uint32{0, 0, 211, End}, 1, "deliver(0, 0, 211, END) = ANSWER"},
		{CallDeliver, []uint32{7, 0, 211, More}, 0, "deliver(7, 0, 211) = PENDING"},
		{CallDeliver, []uint32{7, 0, 0, Abort}, 0, "deliver(7, 0, 0, ABORT) = PENDING"},
		{CallDeliverMem, []uint32{7, ptr, 9, End | Abort}, -32, "deliver_mem(7, 9, END, ABORT) = MALFORMED"},
		{CallForward, []uint32{1, 51, 249, 0}, 0, "forward(1, 51, 249) = OK"},
		{CallWrite, []uint32{1, ptr, 1, End}, int32(Closed), "write(1, 1, END) = CLOSED"},
		{CallClose, []uint32{257}, 0, "close(257) = OK"},
		{CallTimer, []uint32{2, 500}, 0, "timer(2, 500) = OK"},
		{CallReport, []uint32{uint32(ReportUp), 0, 0, ptr, 0}, 0, "report(UP, 0, OK, 0) = OK"},
		{CallReport, []uint32{uint32(ReportFailed), 7, 1<<32 - 9, ptr, 5}, 0, "report(FAILED, 7, RESET, 5) = OK"},
		{CallSave, []uint32{ptr, 36}, 0, "save(36) = OK"},
		{CallLog, []uint32{uint32(LevelWarn), ptr, 20}, 0, "log(WARN, 20)"},
	} {
		got := string(AppendCall(nil, tt.call, tt.args, tt.result))
		if want := "  <-- " + tt.want; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestTraceOpen(t *testing.T) {
	for _, tt := range []struct {
		kind   OpenKind
		req    OpenRequest
		result int32
		want   string
	}{
		{OpenProcess, OpenRequest{Grant: "main", Flags: Essential}, 1,
			`  <-- open(process, 0, "main", ESSENTIAL) = 1`},
		{OpenStream, OpenRequest{Grant: "main", Flags: Essential | Upgrade}, int32(Denied),
			`  <-- open(stream, 0, "main", ESSENTIAL, UPGRADE) = DENIED`},
		{OpenHTTP, OpenRequest{Grant: "main", Method: "POST", Headers: []Pair{{"accept", "a\n"}}}, 257,
			`  <-- open(http, 0, "main", POST "", "accept: a\n") = 257`},
	} {
		if got := string(AppendOpen(nil, tt.kind, 0, &tt.req, tt.result)); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestTraceEnds(t *testing.T) {
	if got, want := string(AppendReturn(nil, -5)), "--> = -5"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := string(AppendTrap(nil, "out of fuel")), "--> trap: out of fuel"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNeedles(t *testing.T) {
	for _, tt := range []struct {
		needles string
		packed  uint32
		want    string
	}{
		{"\n", 0x0a0a0a0a, "\n"},
		{"\r\n", 0x0a0a0a0d, "\r\n"},
		{"abcd", 0x64636261, "abcd"},
		{"abcde", 0x64636261, "abcd"},
		{"", 0, "\x00"},
	} {
		packed := PackNeedles(tt.needles)
		if packed != tt.packed || string(Needles(packed)) != tt.want {
			t.Errorf("PackNeedles(%q) = %#x, needles %q", tt.needles, packed, Needles(packed))
		}
	}
}
