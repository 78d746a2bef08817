package guest

import (
	"bytes"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// roomy is an executor with a memory.
type roomy struct {
	counting
	memory []byte
}

func (m *roomy) Memory(ptr, size uint32) ([]byte, bool) { return m.memory[ptr : ptr+size], true }

// ender is a stream that remembers what was written to it, and whether that was its end.
type ender struct {
	quiet
	text  string
	ended bool
}

func (s *ender) Write(p []byte, end bool) { s.text, s.ended = s.text+string(p), end }

// State is saved up to its bound, with or without a place for it.
func TestMostSavedState(t *testing.T) {
	m := &roomy{memory: bytes.Repeat([]byte("x"), abi.MaxSavedState+2)}
	for size, want := range map[uint32]abi.Status{0: abi.OK, abi.MaxSavedState: abi.OK, abi.MaxSavedState + 1: abi.TooLarge} {
		var saved []byte
		i := &Instance{caller: m, host: &fakeHost{}}
		if got := abi.Status(i.callSave(args{1, size})); got != want {
			t.Errorf("%d bytes without a place: %v", size, got)
		}
		i.config.Save = func(p []byte) { saved = append([]byte("saved "), p...) }
		if got := abi.Status(i.callSave(args{1, size})); got != want || (saved != nil) != (want == abi.OK) || saved != nil && len(saved) != len("saved ")+int(size) {
			t.Errorf("%d bytes: %v, %d saved", size, got, len(saved))
		}
	}
}

// A write has an end if the guest says so, and goes to the open handle alone.
func TestEndOfAWrite(t *testing.T) {
	for flags, want := range map[uint32]bool{0: false, abi.End: true} {
		s := &ender{}
		i := &Instance{caller: &roomy{memory: []byte("-text-")}, config: Config{Limits: Limits{}.withDefaults()}, handles: []handle{{stream: s}}}
		h := uint32(abi.MakeHandle(1, 0))
		if got := abi.Status(i.callWrite(args{h, 1, 4, flags})); got != abi.OK || s.text != "text" || s.ended != want {
			t.Errorf("flags %d: %v, %q is the end: %v", flags, got, s.text, s.ended)
		}
		i.release(&i.handles[0])
		if got := abi.Status(i.callWrite(args{h, 1, 4, flags})); got != abi.Closed || s.text != "text" {
			t.Errorf("after it was closed: %v, %q", got, s.text)
		}
	}
}

func TestTimersCountMilliseconds(t *testing.T) {
	timers := &fakeTimers{}
	i := &Instance{caller: &roomy{}, host: &fakeHost{}, timers: timers}
	i.callTimer(args{7, 1500})
	if got := timers.armed[7]; got != 1500*time.Millisecond {
		t.Errorf("armed for %v", got)
	}
}
