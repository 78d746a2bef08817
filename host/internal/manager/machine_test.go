package manager

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/status"
)

var (
	errDown = errors.New("connection refused")
	errGone = errors.New("exit code 1")
	errWho  = errors.New("401")
)

// events are what a test may have happen to a machine, by name.
var events = map[string]func(*Machine, time.Time) []Effect{
	"want":      (*Machine).Want,
	"rest":      (*Machine).Rest,
	"connected": func(m *Machine, t time.Time) []Effect { return m.Connected(t, Pulse{}) },
	"watched":   func(m *Machine, t time.Time) []Effect { return m.Connected(t, testPulse) },
	"down":      func(m *Machine, t time.Time) []Effect { return m.ConnectFailed(t, status.Unreachable, errDown) },
	"bad":       func(m *Machine, t time.Time) []Effect { return m.ConnectFailed(t, status.BadConfig, errDown) },
	"denied":    func(m *Machine, t time.Time) []Effect { return m.ConnectFailed(t, status.Denied, errDown) },
	"refused":   func(m *Machine, t time.Time) []Effect { return m.ConnectFailed(t, status.PluginRefused, errDown) },
	"401":       func(m *Machine, t time.Time) []Effect { return m.ConnectFailed(t, status.SignIn, errWho) },
	"odd":       func(m *Machine, t time.Time) []Effect { return m.ConnectFailed(t, status.Ready, errDown) },
	"lost":      func(m *Machine, t time.Time) []Effect { return m.Lost(t, errGone) },
	"forgotten": func(m *Machine, t time.Time) []Effect { return m.Forgotten(t, errGone) },
	"auth":      func(m *Machine, t time.Time) []Effect { return m.AuthRequired(t, errWho) },
	"signed-in": (*Machine).SignedIn,
	"disable":   (*Machine).Disable,
	"enable":    (*Machine).Enable,
	"change":    func(m *Machine, t time.Time) []Effect { return m.Change(t, Change{}) },
	"replace":   func(m *Machine, t time.Time) []Effect { return m.Change(t, Change{SameEntry: true}) },
	"switch":    func(m *Machine, t time.Time) []Effect { return m.Change(t, Change{Disabled: true}) },
	"unwatch":   func(m *Machine, t time.Time) []Effect { return m.SetPolicy(t, Policy{}, Pulse{}) },
	"watch":     func(m *Machine, t time.Time) []Effect { return m.SetPolicy(t, Policy{}, testPulse) },
	"close":     (*Machine).Close,
	"gone":      (*Machine).Gone,
	"tick":      func(m *Machine, t time.Time) []Effect { return m.Tick(t, time.Time{}) },
	"heard":     func(m *Machine, t time.Time) []Effect { return m.Tick(t, t) },
	"answered":  (*Machine).Answered,
	"silent":    func(m *Machine, t time.Time) []Effect { return m.Silent(t, time.Time{}) },
	"late":      func(m *Machine, t time.Time) []Effect { return m.Silent(t, t) },
}

// testPulse is that of "watched".
var testPulse = Pulse{Every: 60 * time.Second, Timeout: 10 * time.Second}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// scene is a machine and its time.
type scene struct {
	m       *Machine
	now     time.Time
	refusal error // the newest
}

func newScene(p Policy) *scene { return &scene{m: NewMachine(epoch, p, middle), now: epoch} }

// play has one thing happen, perhaps a while later ("+500ms tick"), and returns
// the effects in words.
func (s *scene) play(t *testing.T, line string) string {
	t.Helper()
	name := line
	if wait, rest, late := strings.Cut(line, " "); late {
		d, err := time.ParseDuration(strings.TrimPrefix(wait, "+"))
		if err != nil {
			t.Fatal(err)
		}
		s.now, name = s.now.Add(d), rest
	}
	event := events[name]
	if event == nil {
		t.Fatalf("no event is called %q", name)
	}
	return s.words(event(s.m, s.now))
}

func (s *scene) words(effects []Effect) string {
	var words []string
	for _, e := range effects {
		switch {
		case e.Do == Announce:
			st := s.m.Status()
			words = append(words, fmt.Sprintf("%v(%v)", st.State, st.Reason))
		case e.Do == TickAt && e.At.IsZero():
			words = append(words, "disarm")
		case e.Do == TickAt:
			words = append(words, "in "+e.At.Sub(s.now).String())
		case e.Do == Drop:
			words = append(words, e.How.String())
		case e.Do == Dial && e.Inherit:
			words = append(words, "dial after")
		case e.Do == Refuse:
			s.refusal = e.Err
			fallthrough
		default:
			words = append(words, e.Do.String())
		}
	}
	return strings.Join(words, ", ")
}

// TestScenes plays sequences. Each line is what happens, "->" and what that leads to.
func TestScenes(t *testing.T) {
	for name, lines := range map[string][]string{
		"signs of life": {
			"want -> connecting(wanted), dial",
			"watched -> in 1m0s, connected(ready)",
			"+30s tick -> ",
			"+20s heard -> in 1m0s",
			"+1m tick -> ask, disarm",
			"want -> ",
			"+1s answered -> in 1m0s",
			"+1m tick -> ask, disarm",
			"+10s silent -> ask",
			"silent -> abort, reconnecting(lost)",
			"silent -> ",
			"gone -> in 500ms",
		},
		"something else is a sign of life too": {
			"want -> connecting(wanted), dial",
			"watched -> in 1m0s, connected(ready)",
			"+1m tick -> ask, disarm",
			"+10s silent -> ask",
			"+10s late -> in 1m0s",
			"+1m tick -> ask, disarm",
			"+10s silent -> ask",
			"auth -> auth-required(sign-in)",
			"+10s silent -> ",
			"+1h signed-in -> in 1m0s, connected(ready)",
		},
		"backoff of a new server": {
			"want -> connecting(wanted), dial",
			"down -> in 500ms, connecting(unreachable), refuse",
			"+500ms tick -> connecting(unreachable), dial, disarm",
			"down -> in 1s, connecting(unreachable), refuse",
			"+1s tick -> connecting(unreachable), dial, disarm",
			"down -> in 2s, connecting(unreachable), refuse",
			"+2s tick -> connecting(unreachable), dial, disarm",
			"down -> in 4s, connecting(unreachable), refuse",
			"+4s tick -> connecting(unreachable), dial, disarm",
			"down -> in 1m0s, failed(fails-often), refuse",
			"want -> refuse",
			"+59s want -> refuse",
			"+1s tick -> connecting(fails-often), dial, disarm",
			"want -> ",
			"down -> in 2m0s, failed(fails-often), refuse",
			"+2m tick -> connecting(fails-often), dial, disarm",
			"down -> in 4m0s, failed(fails-often), refuse",
			"+4m tick -> connecting(fails-often), dial, disarm",
			"down -> in 5m0s, failed(fails-often), refuse",
			"+5m tick -> connecting(fails-often), dial, disarm",
			"down -> in 5m0s, failed(fails-often), refuse",
		},
		"two calls are refused until someone signs in": {
			"want -> connecting(wanted), dial",
			"connected -> connected(ready)",
			"auth -> auth-required(sign-in)",
			"auth -> ",
		},
		"one that was well makes its callers wait": {
			"want -> connecting(wanted), dial",
			"connected -> connected(ready)",
			"+60s lost -> abort, reconnecting(lost)",
			"gone -> in 500ms",
			"+500ms tick -> reconnecting(lost), dial after, disarm",
			"down -> in 1s, reconnecting(unreachable)",
			"want -> ",
			"+1s tick -> reconnecting(unreachable), dial, disarm",
			"connected -> connected(ready)",
		},
		"a session that is forgotten is no failure, however often": {
			"want -> connecting(wanted), dial",
			"connected -> connected(ready)",
			"forgotten -> keep, reconnecting(lost)",
			"want -> ",
			"gone -> reconnecting(lost), dial after",
			"connected -> connected(ready)",
			"+1s forgotten -> keep, reconnecting(lost)",
			"gone -> reconnecting(lost), dial after",
			"down -> in 500ms, reconnecting(unreachable)",
		},
		"a slow backoff does not trip, and a call tries at once": {
			"want -> connecting(wanted), dial",
			"+40s down -> in 500ms, connecting(unreachable), refuse",
			"+500ms tick -> connecting(unreachable), dial, disarm",
			"+40s down -> in 1s, connecting(unreachable), refuse",
			"+1s tick -> connecting(unreachable), dial, disarm",
			"+40s down -> in 2s, connecting(unreachable), refuse",
			"+2s tick -> connecting(unreachable), dial, disarm",
			"+40s down -> in 4s, connecting(unreachable), refuse",
			"+4s tick -> connecting(unreachable), dial, disarm",
			"+40s down -> in 1m0s, failed(unreachable), refuse",
			"want -> connecting(wanted), dial, disarm",
			"+40s down -> in 2m0s, failed(unreachable), refuse",
		},
		"a call does not wait for the first step after a loss, but for the others": {
			"want -> connecting(wanted), dial",
			"connected -> connected(ready)",
			"+1s lost -> abort, reconnecting(lost)",
			"want -> reconnecting(wanted)",
			"gone -> reconnecting(wanted), dial after",
			"connected -> connected(ready)",
			"+1s lost -> abort, reconnecting(lost)",
			"want -> ",
			"gone -> in 1s",
			"want -> ",
			"+1s tick -> reconnecting(lost), dial after, disarm",
		},
		"a good start forgives nothing": {
			"want -> connecting(wanted), dial",
			"connected -> connected(ready)",
			"lost -> abort, reconnecting(lost)",
			"gone -> in 500ms",
			"+500ms tick -> reconnecting(lost), dial after, disarm",
			"connected -> connected(ready)",
			"lost -> abort, reconnecting(lost)",
			"gone -> in 1s",
			"+1s tick -> reconnecting(lost), dial after, disarm",
			"connected -> connected(ready)",
			"lost -> abort, reconnecting(lost)",
			"gone -> in 2s",
			"+2s tick -> reconnecting(lost), dial after, disarm",
			"connected -> connected(ready)",
			"lost -> abort, reconnecting(lost)",
			"gone -> in 4s",
			"+4s tick -> reconnecting(lost), dial after, disarm",
			"connected -> connected(ready)",
			"lost -> abort, failed(fails-often), refuse",
			"want -> refuse",
			"gone -> in 1m0s",
			"+1m tick -> reconnecting(fails-often), dial after, disarm",
			"connected -> connected(ready)",
			"+59s lost -> abort, failed(fails-often), refuse",
			"gone -> in 2m0s",
			"+2m tick -> reconnecting(fails-often), dial after, disarm",
			"connected -> connected(ready)",
			"+60s lost -> abort, reconnecting(lost)",
			"gone -> in 500ms",
		},
		"closing takes longer than the wait": {
			"want -> connecting(wanted), dial",
			"connected -> connected(ready)",
			"lost -> abort, reconnecting(lost)",
			"+500ms tick -> ",
			"+4s gone -> reconnecting(lost), dial after",
		},
		"what does not mend": {
			"want -> connecting(wanted), dial",
			"bad -> failed(config), refuse",
			"want -> refuse",
			"+1h tick -> ",
			"change -> connecting(changed), dial",
			"denied -> failed(denied), refuse",
			"+1h want -> refuse",
			"change -> connecting(changed), dial",
			"refused -> failed(plugin-refused), refuse",
			"signed-in -> ",
			"change -> connecting(changed), dial",
			"odd -> in 500ms, connecting(unreachable), refuse",
		},
		"sign-in": {
			"want -> connecting(wanted), dial",
			"401 -> auth-required(sign-in), refuse",
			"+59s want -> refuse",
			"+1s want -> connecting(wanted), dial",
			"401 -> auth-required(sign-in), refuse",
			"signed-in -> connecting(wanted), dial",
			"connected -> connected(ready)",
			"auth -> auth-required(sign-in)",
			"want -> ",
			"signed-in -> connected(ready)",
			"auth -> auth-required(sign-in)",
			"+1h lost -> abort",
			"gone -> ",
			"want -> reconnecting(wanted), dial after",
			"signed-in -> ",
			"401 -> reconnecting(wanted), dial",
			"401 -> auth-required(sign-in), refuse",
			"change -> connecting(changed), dial",
		},
		"disabled": {
			"want -> connecting(wanted), dial",
			"disable -> abort, disabled(disabled), refuse",
			"want -> refuse",
			"connected -> ",
			"replace -> ",
			"enable -> connecting(wanted)",
			"disable -> disabled(disabled), refuse",
			"gone -> ",
			"+1h tick -> ",
			"enable -> connecting(wanted), dial",
			"down -> in 500ms, connecting(unreachable), refuse",
			"disable -> disarm, disabled(disabled), refuse",
		},
		"disabled before it was wanted": {
			"disable -> disabled(disabled), refuse",
			"enable -> disconnected(not-started)",
			"change -> disconnected(not-started)",
		},
		"changed in the middle": {
			"want -> connecting(wanted), dial",
			"change -> abort, connecting(changed)",
			"change -> connecting(changed)",
			"down -> ",
			"gone -> connecting(changed), dial",
			"connected -> connected(ready)",
			"change -> drain, connecting(changed)",
			"want -> ",
			"gone -> connecting(changed), dial",
		},
		"another plugin carries it": {
			"want -> connecting(wanted), dial",
			"connected -> connected(ready)",
			"replace -> hand over, connecting(changed)",
			"replace -> connecting(changed)",
			"gone -> connecting(changed), dial after",
			"replace -> abort, connecting(changed)", // and nothing is left that was tried once
			"gone -> connecting(changed), dial",
			"connected -> connected(ready)",
			"replace -> hand over, connecting(changed)",
			"change -> drain, connecting(changed)",
			"disable -> abort, disabled(disabled), refuse",
			"replace -> ",
			"gone -> ",
			"replace -> ",
			"change -> connecting(changed), dial",
			"connected -> connected(ready)",
			"switch -> abort, disabled(disabled), refuse",
			"switch -> ",
			"gone -> ",
		},
		"another plugin after it was lost": {
			"want -> connecting(wanted), dial",
			"connected -> connected(ready)",
			"lost -> abort, reconnecting(lost)",
			"replace -> connecting(changed)",
			"gone -> connecting(changed), dial after",
			"down -> in 500ms, connecting(unreachable), refuse",
			"+500ms tick -> connecting(unreachable), dial, disarm",
		},
		"a connection is kept until a handshake was made on it": {
			"want -> connecting(wanted), dial",
			"connected -> connected(ready)",
			"forgotten -> keep, reconnecting(lost)",
			"gone -> reconnecting(lost), dial after",
			"down -> in 500ms, reconnecting(unreachable)",
			"+500ms tick -> reconnecting(unreachable), dial after, disarm",
			"connected -> connected(ready)",
			"lost -> abort, reconnecting(lost)",
		},
		"a connection that is kept goes away": {
			"want -> connecting(wanted), dial",
			"connected -> connected(ready)",
			"forgotten -> keep, reconnecting(lost)",
			"replace -> drain, connecting(changed)",
			"gone -> connecting(changed), dial",
			"connected -> connected(ready)",
			"forgotten -> keep, reconnecting(lost)",
			"gone -> reconnecting(lost), dial after",
			"down -> in 500ms, reconnecting(unreachable)",
			"replace -> abort, disarm, connecting(changed)",
			"gone -> connecting(changed), dial",
			"connected -> connected(ready)",
			"forgotten -> keep, reconnecting(lost)",
			"gone -> reconnecting(lost), dial after",
			"disable -> abort, disabled(disabled), refuse",
			"gone -> ",
			"enable -> reconnecting(wanted), dial",
			"connected -> connected(ready)",
			"forgotten -> keep, reconnecting(lost)",
			"gone -> reconnecting(lost), dial after",
			"bad -> failed(config), refuse",
			"close -> abort, closing(closed), refuse",
			"gone -> disconnected(closed), end",
		},
		"closed in the middle of a dial": {
			"want -> connecting(wanted), dial",
			"close -> abort, closing(closed), refuse",
			"close -> ",
			"change -> ",
			"disable -> ",
			"want -> refuse",
			"connected -> ",
			"down -> ",
			"gone -> disconnected(closed), end",
			"want -> refuse",
			"signed-in -> ",
		},
		"closed while it waits": {
			"want -> connecting(wanted), dial",
			"down -> in 500ms, connecting(unreachable), refuse",
			"close -> disarm, disconnected(closed), refuse, end",
			"+1s tick -> ",
			"close -> ",
		},
	} {
		s := newScene(Policy{})
		for i, line := range lines {
			event, want, _ := strings.Cut(line, " ->")
			if got := s.play(t, event); got != strings.TrimSpace(want) {
				t.Fatalf("%s, line %d: %s -> %s; want%s", name, i+1, event, got, want)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	for lines, want := range map[string]string{
		"want, down":                         "connection refused",
		"want, bad":                          "connection refused",
		"want, 401, want":                    "401",
		"disable, want":                      "the server is disabled",
		"want, down, disable, want":          "the server is disabled",
		"close, want":                        "the server is closed",
		"want, connected, lost, close, want": "the server is closed",
		"want, down, +500ms tick, down, +1s tick, down, +2s tick, down, +4s tick, down, +2600ms want":       "the server failed 5 times in 1m0s; it is tried again in 57s; the last failure: connection refused",
		"want, +1h down, +500ms tick, +1h down, +1s tick, +1h down, +2s tick, +1h down, +4s tick, +1h down": "connection refused; it is tried again in 1m0s, or by the next call",
		"want, connected, auth, lost, gone, want":                                                           "401",
	} {
		s := newScene(Policy{})
		for line := range strings.SplitSeq(lines, ", ") {
			s.play(t, line)
		}
		if s.refusal == nil || s.refusal.Error() != want {
			t.Errorf("%s: %v; want %s", lines, s.refusal, want)
		}
		if off := want == "the server is disabled" || want == "the server is closed"; off && (errors.Is(s.refusal, errDown) || errors.Is(s.refusal, errGone)) {
			t.Errorf("%s: refused for what was before: %#v", lines, s.refusal)
		}
	}
}

func TestPolicyOfItsOwn(t *testing.T) {
	s := newScene(Policy{Backoff: []time.Duration{time.Second}, Slow: 10 * time.Second, SlowMax: 15 * time.Second, Failures: -1})
	s.play(t, "want")
	var waits []time.Duration
	for range 20 {
		s.play(t, "down")
		next := s.m.Status().Next
		waits = append(waits, next.Sub(s.now))
		s.now = next
		s.play(t, "tick")
	}
	want := append([]time.Duration{time.Second, 10 * time.Second}, slices.Repeat([]time.Duration{15 * time.Second}, 18)...)
	if !slices.Equal(waits, want) {
		t.Errorf("waits %v", waits)
	}
	if !errors.Is(s.refusal, errDown) {
		t.Errorf("refused with %v", s.refusal)
	}
	if s.m.backoff.tripped || s.m.backoff.times != nil {
		t.Error("a breaker that is off has tripped")
	}
}

// TestTripEndsTheLadder has the breaker trip before the backoff is at its end.
func TestTripEndsTheLadder(t *testing.T) {
	s := newScene(Policy{Failures: 2})
	for _, line := range []string{
		"want -> connecting(wanted), dial",
		"down -> in 500ms, connecting(unreachable), refuse",
		"+500ms tick -> connecting(unreachable), dial, disarm",
		"down -> in 1m0s, failed(fails-often), refuse",
	} {
		event, want, _ := strings.Cut(line, " -> ")
		if got := s.play(t, event); got != want {
			t.Fatalf("%s -> %s; want %s", event, got, want)
		}
	}
}

// TestWindowOfFailures trips the breaker by failures that lie within a window, and
// forgets a failure when it is exactly a window old.
func TestWindowOfFailures(t *testing.T) {
	for _, c := range []struct {
		gap     time.Duration
		tripped bool
	}{{time.Minute - 1, true}, {time.Minute, false}} {
		p := Policy{Failures: 2, Window: time.Minute}
		var backoff backoff
		backoff.fail(&p, epoch)
		backoff.fail(&p, epoch.Add(c.gap))
		if backoff.tripped != c.tripped {
			t.Errorf("two failures %v apart: tripped %v", c.gap, backoff.tripped)
		}
	}
	var backoff backoff
	backoff.fail(&Policy{Failures: 1}, epoch)
	if !backoff.tripped {
		t.Error("one failure of one did not trip the breaker")
	}
}

// TestJitter keeps the waits within a quarter of what they are meant to be.
func TestJitter(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: 375 * time.Millisecond, 0.5: 500 * time.Millisecond, 0.999: 624 * time.Millisecond} {
		m := NewMachine(epoch, Policy{}, func() float64 { return random })
		m.Want(epoch)
		m.ConnectFailed(epoch, status.Unreachable, errDown)
		if got := m.Status().Next.Sub(epoch).Truncate(time.Millisecond); got != want {
			t.Errorf("with %v: %v, want %v", random, got, want)
		}
		m.pulse = Pulse{Every: time.Minute} // 120 times as long as the first wait
		m.hear(epoch)
		if got := (m.nextAsk.Sub(epoch) / 120).Truncate(time.Millisecond); got != want {
			t.Errorf("with %v: a sign of life is asked for after 120 times %v, want %v", random, got, want)
		}
	}
	f := New()
	defer f.Close()
	if first, second := f.random(), f.random(); first == second || min(first, second) < 0 || max(first, second) >= 1 {
		t.Errorf("the random numbers of a manager are %v and %v", first, second)
	}
}

func TestNames(t *testing.T) {
	for s := status.Disconnected; s <= status.Closing; s++ {
		if text, err := s.MarshalText(); err != nil || len(text) == 0 || strings.Contains(string(text), "(") {
			t.Errorf("state %d is %q, %v", s, text, err)
		}
	}
	for r := status.NotStarted; r <= status.Idle; r++ {
		if text, err := r.MarshalText(); err != nil || len(text) == 0 || strings.Contains(string(text), "(") {
			t.Errorf("reason %d is %q, %v", r, text, err)
		}
	}
	if got := fmt.Sprint(status.Closing+1, status.Idle+1); got != "state(8) reason(14)" {
		t.Error(got)
	}
}

var actions = [...]string{"dial", "tick-at", "drop", "refuse", "announce", "ask", "end"}

func (a Action) String() string { return actions[a] }

var endings = [...]string{"keep", "hand over", "drain", "abort"}

func (e Ending) String() string { return endings[e] }
