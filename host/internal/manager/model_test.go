package manager

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/status"
)

// world is what a machine acts on, and what must be true of it whatever happens.
// It believes the effects alone, so that the machine cannot excuse itself.
type world struct {
	t     *testing.T
	m     *Machine
	now   time.Time
	trail []string

	alive  bool   // a dial or a connection that is not gone
	well   bool   // it is a connection
	leaves bool   // it was told to go
	how    Ending // in which way
	kept   bool   // a connection of before is still open
	estate bool   // the next dial may go on with what is left
	timer  time.Time
	waits  bool // a caller

	pulsed bool      // the connection is watched
	asked  bool      // it was asked for a sign of life
	silent int       // how often in a row it gave none
	sign   time.Time // the last one

	ended bool
	dials []time.Time // since all was forgiven
}

func newWorld(t *testing.T, random func() float64) *world {
	return &world{t: t, now: epoch, m: NewMachine(epoch, Policy{}, random)}
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("after "+strings.Join(w.trail, ", ")+": "+format, args...)
}

// happen has an event happen, fitting or not, and checks what comes of it.
func (w *world) happen(name string) {
	w.t.Helper()
	w.trail = append(w.trail, name)
	w.before(name)
	for _, e := range events[name](w.m, w.now) {
		w.do(name, e)
	}
	w.check(name)
}

// before does to the world what an event says.
func (w *world) before(name string) {
	switch name {
	case "want":
		w.waits = !w.well || w.leaves
	case "connected", "watched":
		if w.alive && !w.leaves && !w.well {
			w.pulsed, w.asked = name == "watched", false
			w.live()
		}
		if w.alive && !w.leaves {
			w.well, w.waits, w.kept, w.estate = true, false, false, false
		}
	case "unwatch", "watch":
		if pulsed := name == "watch"; w.well && !w.leaves && w.pulsed != pulsed {
			w.pulsed, w.asked = pulsed, false
			w.live()
		}
	case "down", "bad", "denied", "refused", "401", "odd":
		w.alive = w.alive && (w.well || w.leaves)
	case "gone":
		if w.leaves {
			w.kept = w.how == LeaveOpen
			w.alive, w.well, w.leaves = false, false, false
		}
	case "enable", "signed-in":
		w.dials = nil
		if name == "signed-in" && w.m.Status().State == status.AuthRequired {
			w.live()
		}
	case "heard":
		if w.watched() {
			w.live()
		}
	case "answered", "late":
		if w.asked {
			w.asked = false
			w.live()
		}
	case "silent":
		if w.asked {
			if w.asked, w.silent = false, w.silent+1; w.m.Status().State != status.Connected {
				w.live()
			}
		}
	case "change", "switch":
		w.dials, w.estate = nil, false
	case "replace":
		w.dials = nil
		w.estate = w.inherits()
	case "disable", "close":
		w.estate = false
	case "rest": // who rests only servers that work and are not used starts none too often
		if w.m.Status().State == status.Connected {
			w.dials, w.estate = nil, false
		}
	case "lost":
		w.estate = w.estate || w.well && !w.leaves
	case "forgotten": // no server is started for that
		if w.well && !w.leaves {
			w.dials, w.estate = nil, true
		}
	}
}

// live notes a sign of life.
func (w *world) live() { w.sign, w.silent = w.now, 0 }

// watched reports whether it is to be looked for signs of life.
func (w *world) watched() bool {
	return w.well && !w.leaves && w.pulsed && !w.asked && w.m.Status().State == status.Connected
}

// inherits reports whether the session at the server is still one to go on with when
// another plugin carries it: it is that of a connection, and neither tried already nor
// forgotten.
func (w *world) inherits() bool {
	switch {
	case w.kept, w.leaves && w.how == LeaveOpen:
		return false // it is forgotten, and what is open is the other plugin's
	case w.leaves:
		return w.estate
	case w.alive:
		return w.well
	}
	return w.estate
}

func (w *world) do(name string, e Effect) {
	w.t.Helper()
	if w.ended && e.Do != Refuse {
		w.fail("%v after the end", e.Do)
	}
	switch e.Do {
	case Dial:
		if w.alive {
			w.fail("a second dial")
		}
		if e.Inherit != w.estate {
			w.fail("a dial that inherits: %v", e.Inherit)
		}
		w.alive, w.estate = true, w.kept
		w.dials = append(w.dials, w.now)
		w.spawns()
	case TickAt:
		if w.timer = e.At; !e.At.IsZero() && e.At.Before(w.now) && name != "tick" {
			w.fail("a timer in the past")
		}
	case Ask:
		switch wait := testPulse.Every * 3 / 4; {
		case !w.watched():
			w.fail("asked for a sign of life")
		case w.silent == 0 && w.now.Sub(w.sign) < wait:
			w.fail("asked for a sign of life %v after one", w.now.Sub(w.sign))
		case e.Within != testPulse.Timeout:
			w.fail("asked for a sign of life within %v", e.Within)
		}
		w.asked = true
	case Drop:
		switch {
		case (name == "silent" || name == "answered" || name == "late" || name == "heard") && w.silent != 2:
			w.fail("dropped after %d silences", w.silent)
		case !w.alive && !w.kept:
			w.fail("dropped what is not there")
		case w.leaves && e.How <= w.how:
			w.fail("dropped again, by %v after %v", e.How, w.how)
		case !w.well && e.How != Abort:
			w.fail("%v of what has no calls in flight", e.How)
		}
		w.alive, w.leaves, w.how, w.kept = true, true, e.How, false
		if w.asked = false; name == "silent" {
			w.estate = true
		}
		w.gentle(name)
	case Refuse:
		w.waits = false
		if r, ok := e.Err.(*UnavailableError); !ok || r.Error() == "" {
			w.fail("refused with %v", e.Err)
		}
	case End:
		if w.alive || w.kept || !w.timer.IsZero() {
			w.fail("the end, and something is left")
		}
		w.ended = true
	}
}

// gentle holds that calls in flight end with the connection only where the user wants
// that, or where it has ended.
func (w *world) gentle(name string) {
	w.t.Helper()
	switch name {
	case "forgotten", "replace", "change", "rest":
		if w.well && w.how == Abort {
			w.fail("calls in flight end with the connection")
		}
	case "disable", "switch", "close":
		if w.how != Abort {
			w.fail("calls in flight go on")
		}
	}
}

// spawns holds the figure: a server is started five times a minute at most.
func (w *world) spawns() {
	w.t.Helper()
	recent := 0
	for _, at := range w.dials {
		if w.now.Sub(at) < time.Minute {
			recent++
		}
	}
	if recent > 5 {
		w.fail("%d dials in a minute", recent)
	}
}

// check compares what the machine says with what there is.
func (w *world) check(name string) {
	w.t.Helper()
	s := w.m.Status()
	coming := w.alive || !w.timer.IsZero()
	switch {
	case w.waits && !coming:
		w.fail("a caller waits for nothing")
	case w.waits && w.leaves && s.Next.IsZero():
		w.fail("a caller waits for what goes away")
	case s.State == status.Connected && !(w.well && !w.leaves):
		w.fail("connected without a connection")
	case w.kept && s.State != status.Reconnecting && s.State != status.Failed && s.State != status.AuthRequired && s.State != status.Connecting:
		w.fail("a connection is kept, and it is %v", s.State)
	case w.well && !w.leaves && s.State != status.Connected && s.State != status.AuthRequired:
		w.fail("a connection, and it is %v", s.State)
	case (s.State == status.Connecting || s.State == status.Reconnecting) && !coming:
		w.fail("%v, and nothing comes of it", s.State)
	case (s.State == status.Failed || s.State == status.Disabled) && w.alive && !w.leaves:
		w.fail("%v, and yet there is a dial", s.State)
	case w.watched() && w.timer.IsZero():
		w.fail("no one looks for signs of life")
	case w.silent > 1 && w.well && !w.leaves && s.State == status.Connected:
		w.fail("connected, and silent %d times", w.silent)
	case w.alive && !w.timer.IsZero() && !w.watched():
		w.fail("a timer while something is under way")
	case s.Reason == status.FailsOften && s.State == status.Failed && s.Next.IsZero():
		w.fail("the breaker says no time")
	}
}

// end closes the server in whatever state it is, and has what is left go.
func (w *world) end() {
	w.t.Helper()
	w.happen("close")
	if w.alive {
		w.happen("gone")
	}
	if !w.ended || w.waits {
		w.fail("closed, and not at its end")
	}
	for _, name := range slices.Sorted(maps.Keys(events)) {
		w.now = w.now.Add(time.Hour)
		w.happen(name)
	}
}

// pauses are what passes between events.
var pauses = []time.Duration{0, 0, time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second, 30 * time.Second, time.Minute, 10 * time.Minute}

// run plays a tape: a byte for what happens and one for how long before.
func (w *world) run(tape []byte) {
	w.t.Helper()
	names := slices.Sorted(maps.Keys(events))
	for ; len(tape) > 1; tape = tape[2:] {
		w.now = w.now.Add(pauses[int(tape[1])%len(pauses)])
		if !w.timer.IsZero() && tape[1] >= 128 { // to the moment of the timer
			w.now = later(w.now, w.timer)
		}
		w.happen(names[int(tape[0])%len(names)])
	}
	w.end()
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func FuzzMachine(f *testing.F) {
	names := slices.Sorted(maps.Keys(events))
	seed := func(lines ...string) {
		var tape []byte
		for _, name := range lines {
			tape = append(tape, byte(slices.Index(names, name)), 128)
		}
		f.Add(tape)
	}
	seed("want", "down", "tick", "down", "tick", "down", "tick", "down", "tick", "down", "want", "tick", "connected")
	seed("want", "connected", "lost", "want", "gone", "401", "signed-in", "connected", "auth", "lost", "gone", "want")
	seed("want", "watched", "tick", "answered", "tick", "silent", "late", "tick", "silent", "silent", "gone", "tick", "watched", "auth", "silent", "tick")
	seed("want", "connected", "rest", "want", "gone", "connected", "rest", "gone", "want", "connected", "rest", "change", "gone", "want")
	seed("want", "change", "connected", "gone", "disable", "change", "gone", "enable", "bad", "want", "change", "close")
	f.Fuzz(func(t *testing.T, tape []byte) {
		if len(tape) > 400 {
			tape = tape[:400]
		}
		random := rand.New(rand.NewPCG(uint64(len(tape)), 1))
		newWorld(t, random.Float64).run(tape)
	})
}

// TestMachineAtRandom is the fuzz test for every run of the tests: likely tapes
// rather than new ones, since most events do not fit most states.
func TestMachineAtRandom(t *testing.T) {
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 2))
		tape := make([]byte, 200)
		for i := range tape {
			tape[i] = byte(random.UintN(256))
		}
		newWorld(t, random.Float64).run(tape)
	}
}
