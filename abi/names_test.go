package abi

import (
	"fmt"
	"strings"
	"testing"
)

func TestCalls(t *testing.T) {
	want := []string{
		"take/3=", "scan/2=", "deliver/4=", "deliver_mem/4=", "forward/4=", "write/4=",
		"open/4=", "close/1=", "timer/2=", "report/5=", "save/2=", "log/3",
	}
	calls := Calls()
	if len(calls) != len(want) {
		t.Fatalf("%d calls, want %d", len(calls), len(want))
	}
	for i, c := range calls {
		got := fmt.Sprintf("%v/%d", c, c.Params())
		if c.HasResult() {
			got += "="
		}
		if got != want[i] {
			t.Errorf("call %d is %s, want %s", i, got, want[i])
		}
	}
}

// The marker is spelt out in names.go, so that it can be searched for; it must
// still follow the version.
func TestNamesCarryTheVersion(t *testing.T) {
	if want := fmt.Sprint(ExportMarkerPrefix, Version); ExportMarker != want {
		t.Errorf("ExportMarker = %q, want %q", ExportMarker, want)
	}
	if want := fmt.Sprint("wharf", Version); Module != want {
		t.Errorf("Module = %q, want %q", Module, want)
	}
}

// Numbers are the ABI. A change of one of these strings breaks every plugin
// that was ever built.
func TestNumbers(t *testing.T) {
	for _, tt := range []struct{ what, got, want string }{
		{"events", list(1, kindEnd, Kind.String),
			"DESCRIBE OPEN MESSAGE CANCEL OPENED HEAD DATA END ERROR EXIT TIMER RESUME CLOSE"},
		{"opens", list(1, openEnd, OpenKind.String), "process stream http"},
		{"reports", list(1, reportEnd, What.String), "MANIFEST UP DONE FAILED EXPIRED ENDED"},
		{"levels", list(LevelDebug, LevelError+1, Level.String), "DEBUG INFO WARN ERROR"},
		{"messages", list(Request, Reply+1, MessageKind.String), "request notification reply"},
		{"cancels", list(CancelByMessage, CancelByStream+1, CancelBy.String), "message stream"},
		{"probes", list(ProbeNone, ProbeHTTP+1, Probe.String), "none stdio http"},
		{"statuses", list(0, -statusEnd, func(s Status) string { return (-s).String() }),
			"OK DENIED UNAVAILABLE MALFORMED LIMIT CLOSED NOT_FOUND UNREACHABLE TIMED_OUT " +
				"RESET PROTOCOL TOO_LARGE STALLED INTERNAL REFUSED UNAUTHORIZED"},
		{"good verdicts", list(0, 5, Verdict.String), "PENDING ANSWER NOTE REQUEST BLANK"},
		{"bad verdicts", list(32, 36, func(v Verdict) string { return (-v).String() }),
			"MALFORMED WRONG_ID LATE TOO_BIG"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s are\n%s\nwant\n%s", tt.what, tt.got, tt.want)
		}
	}
}

func list[T ~int32 | ~uint32](from, to T, name func(T) string) string {
	var names []string
	for i := from; i < to; i++ {
		names = append(names, name(i))
	}
	return strings.Join(names, " ")
}

func TestUnknownNumbersHaveNames(t *testing.T) {
	for _, tt := range []struct {
		got  fmt.Stringer
		want string
	}{
		{Kind(0), "event(0)"},
		{kindEnd, "event(14)"},
		{Kind(1<<32 - 1), "event(4294967295)"},
		{OpenKind(9), "kind(9)"},
		{What(0), "report(0)"},
		{Level(4), "level(4)"},
		{MessageKind(0), "message(0)"},
		{CancelBy(0), "cancel(0)"},
		{Probe(3), "probe(3)"},
		{Status(1), "status(1)"},
		{statusEnd, "status(-16)"},
		{Verdict(5), "status(5)"},
		{Verdict(Denied), "DENIED"},
		{Call(200), "call(200)"},
	} {
		if got := tt.got.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestParseOpenKind(t *testing.T) {
	for k := OpenProcess; k < openEnd; k++ {
		if got, ok := ParseOpenKind(k.String()); !ok || got != k {
			t.Errorf("ParseOpenKind(%q) = %v, %v", k, got, ok)
		}
	}
	for _, name := range []string{"", "Process", "kind(9)"} {
		if got, ok := ParseOpenKind(name); ok {
			t.Errorf("ParseOpenKind(%q) = %v", name, got)
		}
	}
}

func TestHandles(t *testing.T) {
	for _, tt := range []struct {
		index      uint8
		generation uint32
		handle     uint32
	}{{1, 0, 1}, {1, 1, 257}, {8, 0, 8}, {8, MaxGeneration, 1<<31 - 256 + 8}} {
		h := MakeHandle(tt.index, tt.generation)
		i, g := SplitHandle(h)
		if h != tt.handle || i != tt.index || g != tt.generation {
			t.Errorf("MakeHandle(%d, %d) = %d, split into %d, %d", tt.index, tt.generation, h, i, g)
		}
	}
}
