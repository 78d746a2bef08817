package guest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// canary is what only the server may see.
const canary = "c4nary-" + "0f-the-blob"

// hasty does not wait for a guest that does not answer CLOSE.
var hasty = Limits{CloseGrace: time.Nanosecond}

// sealedWitness is a hostile guest whose first stream was sealed, and all that became
// known of that outside of the stream.
type sealedWitness struct {
	*rig
	lines  []string // of the trace
	seen   bytes.Buffer
	warned []string
}

func openSealed(t *testing.T, mode string) *sealedWitness {
	t.Helper()
	return openSealedAt(t, nil, mode)
}

func openSealedAt(t *testing.T, place Program, mode string) *sealedWitness {
	t.Helper()
	w := &sealedWitness{}
	w.rig = open(t, hostilePackage, Config{
		Remote: place,
		Trace: func(line, payload []byte) {
			w.lines = append(w.lines, strings.TrimSpace(string(line)))
			w.seen.Write(line)
			w.seen.Write(payload)
		},
		Log: func(level abi.Level, text string) {
			w.seen.WriteString(text)
			if level == abi.LevelWarn {
				w.warned = append(w.warned, text)
			}
		},
		Save:   func(state []byte) { w.seen.Write(state) },
		Limits: hasty,
	}, abi.Pair{Key: "mode", Value: mode})
	w.host.stream(0).sink.Sealed([]byte(canary))
	return w
}

// keeps fails the test if the blob is anywhere but in the stream.
func (w *sealedWitness) keeps(t *testing.T) {
	t.Helper()
	for _, msg := range w.inbox.messages() {
		w.seen.WriteString(msg)
	}
	for _, err := range w.inbox.failed {
		fmt.Fprintf(&w.seen, "%v %+v", err, err)
	}
	if w.isDone() {
		fmt.Fprintf(&w.seen, "%v %+v", w.inbox.cause, w.inbox.cause)
	} else if w.remembers(t, canary) {
		t.Error("the guest has it in its memory")
	}
	if strings.Contains(w.seen.String(), canary) {
		t.Errorf("it was seen: %q", w.seen.String())
	}
	if strings.Contains(string(w.stashed[:cap(w.stashed)]), canary) || bytes.Contains(w.current.payload, []byte(canary)) {
		t.Error("the host keeps it for longer than it must")
	}
}

// remembers looks for a text in all of the guest's memory.
func (w *sealedWitness) remembers(t *testing.T, text string) bool {
	t.Helper()
	memory, ok := w.executor.Memory(0, w.executor.Pages()<<16)
	if !ok || len(memory) == 0 {
		t.Fatal("there is no memory to search")
	}
	return bytes.Contains(memory, []byte(text))
}

// A guest that tries everything gets nothing, and the server gets it all.
func TestSealedPayloadIsNotSeen(t *testing.T) {
	w := openSealed(t, "pry")
	n := len(canary)
	if got, want := w.host.stream(0).text(), strings.Repeat("\x00", 2*n)+canary; got != want {
		t.Errorf("the stream got %q, want %q", got, want)
	}
	for _, want := range []string{
		fmt.Sprintf("--> event(OPENED, 1, SEALED, %d)", n),
		fmt.Sprintf("<-- take(0, %d) = DENIED", n),
		fmt.Sprintf("<-- take(0, %d) = DENIED", 2*n),
		"<-- take(5, 1) = DENIED",
		`<-- scan(0, "c") = -1`,
		fmt.Sprintf("<-- deliver(0, 0, %d) = DENIED", n),
		fmt.Sprintf("<-- deliver(0, 0, %d, END) = DENIED", n),
		"<-- deliver(7, 0, 1, END) = DENIED",
		fmt.Sprintf("<-- forward(1, 0, %d) = OK", n),
	} {
		if !slices.Contains(w.lines, want) {
			t.Errorf("the trace lacks %s", want)
		}
	}
	if len(w.warned) != 0 {
		t.Errorf("warned: %q", w.warned)
	}
	w.keeps(t)
}

// A guest that runs elsewhere is told the same of a sealed payload, which does not
// leave this process.
func TestSealedPayloadApart(t *testing.T) {
	for _, mode := range []string{"pry", "pieces", "divert", "beyond", "shut", "gone", "ignorant"} {
		here, there := openSealed(t, mode), openSealedAt(t, elsewhere, mode)
		if !slices.Equal(here.lines, there.lines) {
			t.Errorf("%s: here %q, apart %q", mode, here.lines, there.lines)
		}
		if got, want := there.host.stream(0).text(), here.host.stream(0).text(); got != want {
			t.Errorf("%s: the stream got %q, want %q", mode, got, want)
		}
	}
}

// The search for the canary finds what a guest was let see.
func TestMemoryIsSearched(t *testing.T) {
	w := openSealed(t, "pry")
	const seen = "a mode that does not exist"
	set := abi.AppendSettings(nil, &abi.Settings{Values: []abi.Pair{{Key: "mode", Value: seen}}})
	w.post(&item{kind: abi.EventOpen, payload: set})
	if !w.remembers(t, seen) {
		t.Error("it is not found")
	}
}

// The guest decides where in the stream it goes, and may cut it.
func TestSealedPayloadInPieces(t *testing.T) {
	w := openSealed(t, "pieces")
	want := "-" + strings.Join(strings.Split(canary, ""), "-")
	if got := w.host.stream(0).text(); got != want {
		t.Errorf("the stream got %q, want %q", got, want)
	}
	w.keeps(t)
}

// It goes to the handle that it is for, or nowhere; the user hears of the latter.
func TestSealedPayloadIsNotDiverted(t *testing.T) {
	for mode, want := range map[string]string{
		"divert":   fmt.Sprintf("<-- forward(2, 0, %d) = DENIED", len(canary)),
		"shut":     fmt.Sprintf("<-- forward(1, 0, %d) = CLOSED", len(canary)),
		"ignorant": "--> = 0",
	} {
		w := openSealed(t, mode)
		for _, s := range w.host.streams {
			if s.text() != "" {
				t.Errorf("%s: a stream got %q", mode, s.text())
			}
		}
		if !slices.Contains(w.lines, want) {
			t.Errorf("%s: the trace lacks %s: %q", mode, want, w.lines)
		}
		if len(w.warned) != 1 || w.warned[0] != sealedUnused {
			t.Errorf("%s: warned: %q", mode, w.warned)
		}
		w.keeps(t)
	}
}

// What was not forwarded is gone when the guest has returned: the same call has
// the bytes of the next event.
func TestSealedPayloadIsGoneAfterItsEvent(t *testing.T) {
	w := openSealed(t, "later")
	if w.isDone() {
		t.Fatal(w.inbox.cause)
	}
	data := strings.Repeat("x", len(canary))
	w.host.stream(0).sink.Data([]byte(data), false)
	if got := w.host.stream(0).text(); got != data {
		t.Errorf("the stream got %q", got)
	}
	w.keeps(t)
}

// A range beyond it is a lie as elsewhere, and a guest that ends with the event
// is not told off for what it left.
func TestSealedPayloadOfADeadGuest(t *testing.T) {
	w := openSealed(t, "beyond")
	var trap *wasm.Trap
	if !w.isDone() || !errors.As(w.inbox.cause, &trap) || trap.Kind != wasm.TrapHost {
		t.Errorf("ended with %v", w.inbox.cause)
	}
	if got := w.host.stream(0).text(); got != "x" {
		t.Errorf("the stream got %q", got)
	}
	w.keeps(t)
	gone := openSealed(t, "gone")
	if !gone.isDone() || len(gone.warned) != 0 {
		t.Errorf("warned: %q", gone.warned)
	}
	gone.keeps(t)
}

// Each stream has its own.
func TestEachStreamHasItsOwnSeal(t *testing.T) {
	w := openSealed(t, "pieces")
	w.host.stream(0).sink.Data([]byte("second"), false) // opens another
	w.host.stream(1).sink.Sealed([]byte("ab"))
	if got := w.host.stream(1).text(); got != "-a-b" {
		t.Errorf("the second stream got %q", got)
	}
}

// A stream without credentials is opened as ever, for a guest that knows of seals too.
func TestNothingIsSealed(t *testing.T) {
	r := open(t, hostilePackage, Config{Limits: hasty}, abi.Pair{Key: "mode", Value: "pry"})
	r.host.stream(0).sink.Opened()
	r.send(t, 1, "{}")
	if got := <-r.freed; got != 1 || r.host.stream(0).text() != "{}\n" {
		t.Errorf("message %d was freed, the stream got %q", got, r.host.stream(0).text())
	}
}
