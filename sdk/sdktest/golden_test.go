//go:build !wasip1

package sdktest

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// The golden traces of the contract are documents, most of them of transports
// that are not written yet. What they say must at least be possible: this test
// makes every call in them against the fake host, and keeps the books of
// handles and exchanges.
func TestGoldenTraces(t *testing.T) {
	files, err := filepath.Glob("../../abi/testdata/traces/*.trace")
	if err != nil || len(files) != 7 {
		t.Fatalf("%d golden traces, want 7 (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			trace := Read(t, file)
			if !strings.Contains(trace.Comment, "What it pins:") {
				t.Error("the trace does not say what it pins")
			}
			a := auditor{T: t, host: New(abi.Manifest{}, nil), waiting: map[uint32]string{}, owned: map[string]uint32{}}
			for i := range trace.Steps {
				a.step(&trace.Steps[i])
			}
			if trace.Steps[len(trace.Steps)-1].End == "--> = 0" && len(a.waiting) > 0 {
				t.Errorf("exchanges that have not ended: %v", a.waiting)
			}
		})
	}
}

// auditor makes the calls of a trace itself.
type auditor struct {
	*testing.T
	host    *Host
	up      bool
	waiting map[uint32]string // exchanges that something must still be said about
	owned   map[string]uint32 // the handle opened last, by exchange
}

func (a *auditor) step(s *Step) {
	a.host.show(s.Kind, s.Handle, s.Arg, s.Payload)
	switch s.Kind {
	case abi.EventMessage:
		a.message(s)
	case abi.EventCancel:
		delete(a.waiting, s.Arg)
	case abi.EventOpened, abi.EventHead, abi.EventData, abi.EventEnd, abi.EventError, abi.EventExit:
		if !a.host.isOpen(s.Handle) {
			a.Errorf("%s: an event for a handle that is not open", s.Pos)
		}
	}
	for i := range s.Calls {
		a.call(s, &s.Calls[i])
	}
	if s.Kind == abi.EventCancel { // the host closes what the guest has left open
		a.host.close([4]uint32{a.owned[strconv.Itoa(int(s.Arg))]}, nil)
	}
	if s.Kind == abi.EventMessage && (s.End == "--> = 1") != (a.waiting[s.Arg] == "") {
		if a.waiting[s.Arg] == "" && !failedIn(s) {
			a.Errorf("%s: MESSAGE returns 0 and nothing follows", s.Pos)
		}
		delete(a.waiting, s.Arg)
	}
}

func failedIn(s *Step) bool {
	for _, c := range s.Calls {
		if c.Op == abi.CallReport && strings.Contains(c.Line, "FAILED, "+strconv.Itoa(int(s.Arg))+",") {
			return true
		}
	}
	return false
}

// message checks that facts, message and exchange fit together.
func (a *auditor) message(s *Step) {
	f, err := abi.DecodeFacts(s.Payload)
	size, _ := abi.BlockSize(s.Payload)
	if err != nil || int(s.Handle) != size {
		a.Fatalf("%s: the message begins at %d, its facts end at %d (%v)", s.Pos, s.Handle, size, err)
	}
	want := map[abi.MessageKind]abi.Verdict{
		abi.Request: abi.VerdictRequest, abi.Notification: abi.VerdictNote, abi.Reply: abi.VerdictAnswer,
	}[f.Kind]
	text := string(s.Payload[size:])
	if got := Classify([]byte(text)); got != want || !strings.Contains(text, `"id":`+f.ID) && f.ID != "" {
		a.Errorf("%s: the facts say %v %s, the message is a %v", s.Pos, f.Kind, f.ID, got)
	}
	if f.Kind == abi.Request && f.ID != strconv.Itoa(int(s.Arg)) {
		a.Errorf("%s: request %s has exchange %d", s.Pos, f.ID, s.Arg)
	}
	if !a.up {
		a.Errorf("%s: a message before report(UP)", s.Pos)
	}
	a.waiting[s.Arg] = s.Pos
}

func (a *auditor) call(s *Step, c *Call) {
	op, args, data := a.arguments(c)
	delivered := len(a.host.Delivered)
	result := calls[op](a.host, args, data)
	if len(a.host.Delivered) > delivered {
		result = a.verdict(s, c, a.host.Delivered[delivered])
	}
	if op == abi.CallOpen {
		a.open(s, c, result)
		return
	}
	line := string(abi.AppendCall(nil, op, withPointer(op, args, len(data)), result))
	if line != c.Line {
		a.Errorf("%s: %s\ncannot be, but %s", s.Pos, c.Line, line)
	}
	if op == abi.CallReport {
		a.report(abi.What(args[0]), args[1])
	}
}

// verdict returns the trace's verdict where it is one that the message can get.
func (a *auditor) verdict(s *Step, c *Call, d Delivery) int32 {
	claimed := abi.Verdict(c.Result)
	if claimed == abi.VerdictAnswer {
		delete(a.waiting, a.exchangeOf(d))
	}
	if d.Verdict == abi.VerdictAnswer && (claimed == abi.VerdictWrongID || claimed == abi.VerdictLate) {
		return c.Result
	}
	return int32(d.Verdict)
}

// exchangeOf returns whose answer d is: on the shared channel its id tells.
func (a *auditor) exchangeOf(d Delivery) uint32 {
	if d.Exchange != 0 {
		return d.Exchange
	}
	_, rest, _ := strings.Cut(d.Message, `"id":`)
	id, _, _ := strings.Cut(rest, ",")
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		a.Errorf("the answer %s has no id of ours", d.Message)
	}
	return uint32(n)
}

func (a *auditor) open(s *Step, c *Call, natural int32) {
	if c.Result > 0 && c.Result != natural {
		a.Errorf("%s: open gives %d, want %d", s.Pos, c.Result, natural)
	}
	if c.Result > 0 {
		a.host.hold(uint32(c.Result))
		a.owned[strings.Split(c.Line, ", ")[1]] = uint32(c.Result)
	}
}

func (a *auditor) report(what abi.What, exchange uint32) {
	switch what {
	case abi.ReportUp:
		a.up = true
	case abi.ReportDone, abi.ReportFailed:
		delete(a.waiting, exchange)
	}
}

// arguments reads back what stands in the line of a call.
func (a *auditor) arguments(c *Call) (op abi.Call, args [4]uint32, data []byte) {
	text := c.Line[strings.Index(c.Line, "(")+1:]
	if c.Op == abi.CallOpen {
		a.host.Opened = append(a.host.Opened, abi.OpenRequest{})
		return c.Op, args, abi.AppendOpenRequest(nil, &abi.OpenRequest{})
	}
	if i := strings.LastIndex(text, ")"); i >= 0 {
		text = text[:i]
	}
	var list []uint32
	flags := uint32(0)
	for _, word := range strings.Split(text, ", ") {
		if n, ok := number(word); ok {
			list = append(list, n)
		} else if word == "END" {
			flags |= abi.End
		} else if word == "ABORT" {
			flags |= abi.Abort
		} else {
			a.Fatalf("%s: argument %q", c.Line, word)
		}
	}
	size, carries := carried(c)
	if data = c.Data; data == nil {
		data = make([]byte, size)
	}
	copy(args[:], list)
	switch c.Op {
	case abi.CallTake:
		data = make([]byte, list[1])
		args = [4]uint32{list[0]}
	case abi.CallDeliver, abi.CallForward:
		args[3] = flags
	case abi.CallWrite, abi.CallDeliverMem:
		args = [4]uint32{list[0], flags}
	case abi.CallReport:
		args[3] = 0
	default:
		if carries {
			args = [4]uint32{list[0]}
		}
	}
	return c.Op, args, data
}

// number reads an argument: a number, needles, or a name.
func number(word string) (uint32, bool) {
	if n, err := strconv.ParseUint(word, 10, 32); err == nil {
		return uint32(n), true
	}
	if needles, err := strconv.Unquote(word); err == nil {
		return abi.PackNeedles(needles), true
	}
	if s, ok := statuses[word]; ok {
		return uint32(s), true
	}
	if what, ok := namesOf(abi.ReportManifest, abi.ReportEnded)[word]; ok {
		return uint32(what), true
	}
	level, ok := namesOf(abi.LevelDebug, abi.LevelError)[word]
	return uint32(level), ok
}
