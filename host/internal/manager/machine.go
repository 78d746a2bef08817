package manager

import (
	"fmt"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/host/status"
)

// connState says how far a connection has come. It is separate from the state because, for example,
// a server may be disabled while its connection is still ending.
type connState uint8

const (
	connIdle     connState = iota
	connKept               // the previous connection is open: the next dial makes its handshake there
	connDialing            // Dial was returned, and the dial has not ended
	connUp                 // Connected was called
	connDropping           // Drop was returned, and Gone was not called yet
)

// inheritance says what the next dial may inherit.
type inheritance uint8

const (
	inheritNothing    inheritance = iota
	inheritSession                // what the server keeps for the previous connection
	inheritConnection             // the previous connection itself
)

// Machine decides when one server is dialled and what its callers are told. Its methods are events,
// each with its time; times never go back. Each returns the actions to take, in order, in a slice
// that is valid until the next event. An event that does not fit the state has no effect, so a late
// event does no harm. Only one goroutine at a time may use a machine.
type Machine struct {
	policy Policy
	random func() float64

	status   status.Status // without the fields from ID to Tools, which others set
	conn     connState
	ending   Ending      // of the newest Drop
	inherit  inheritance // what the next dial may inherit
	wanted   bool        // a caller has wanted it at some time
	known    bool        // the present entry has been connected before
	eager    bool        // a call causes a dial even before Next
	signedIn bool        // a sign-in came while the dial was under way
	backoff  backoff
	since    time.Time // when the connection came up
	pulse    Pulse     // of the connection
	heard    time.Time // the time of the last sign of life over it
	nextAsk  time.Time // the time of the next Ask, while watched
	asked    bool      // an Ask is open
	silent   bool      // the server has missed the last Ask
	ended    bool      // End was returned, or is about to be

	armed   time.Time // the time of the last TickAt
	changed bool      // the status has changed since the last Announce
	refusal error     // for callers that wait; nil is none
	out     []Effect
}

// NewMachine returns the machine of a server that no caller wants yet. random must return numbers
// in [0, 1).
func NewMachine(now time.Time, p Policy, random func() float64) *Machine {
	return &Machine{policy: p.withDefaults(), random: random, status: status.Status{Since: now}}
}

// Status returns the status of the server, without the fields from ID to Tools.
func (m *Machine) Status() status.Status { return m.status }

// Want says that a caller needs a connection, or that the server must be started. If there is no
// connection and soon will be none, it returns a Refuse.
func (m *Machine) Want(now time.Time) []Effect {
	switch {
	case m.ended || m.status.State == status.Closing || m.status.State == status.Disabled:
		m.refuse(now)
	case m.conn == connUp || m.conn == connDialing:
		m.wanted = true
	case m.status.State == status.Disconnected:
		m.wanted = true
		m.dial(now, status.Wanted)
	case m.status.State == status.AuthRequired && now.Sub(m.status.Since) >= m.policy.Slow:
		// The person may have signed in with another program. A call that comes a good while later
		// finds that out, at the cost of one dial.
		m.dial(now, status.Wanted)
	case m.status.State == status.Failed && !permanent(m.status.Reason) && !m.backoff.tripped:
		m.dial(now, status.Wanted)
	case m.status.State == status.Failed || m.status.State == status.AuthRequired:
		m.refuse(now)
	case m.eager:
		m.dial(now, status.Wanted)
	}
	return m.effects()
}

// Rest says that the server is not used. It ends the connection once the calls in flight have ended;
// the next Want makes another.
func (m *Machine) Rest(now time.Time) []Effect {
	if m.conn == connUp && m.status.State == status.Connected {
		m.wanted = false
		m.drop(Drain)
		m.set(now, status.Disconnected, status.Idle)
	}
	return m.effects()
}

// Connected says that the dial has made a connection, and how it must be watched.
func (m *Machine) Connected(now time.Time, p Pulse) []Effect {
	if m.conn == connDialing {
		m.pulse, m.asked = p, false
		m.hear(now)
		m.conn, m.since, m.known, m.signedIn, m.inherit = connUp, now, true, false, inheritNothing
		m.set(now, status.Connected, status.Ready)
	}
	return m.effects()
}

// ConnectFailed says that the dial has ended without a connection, and left nothing behind. A
// reason that no dial can have counts as Unreachable.
func (m *Machine) ConnectFailed(now time.Time, reason status.Reason, err error) []Effect {
	if m.conn != connDialing {
		return m.effects()
	}
	m.conn, m.status.Err = connIdle, err
	if m.inherit == inheritConnection {
		m.conn = connKept
	}
	late := m.signedIn // the dial may have begun before the sign-in
	m.signedIn = false
	switch {
	case reason == status.SignIn && late:
		m.dial(now, status.Wanted)
	case reason == status.SignIn:
		m.set(now, status.AuthRequired, status.SignIn)
		m.refuse(now)
	case permanent(reason):
		m.set(now, status.Failed, reason)
		m.refuse(now)
	default:
		m.backoff.fail(&m.policy, now)
		m.retry(now, status.Unreachable)
	}
	return m.effects()
}

// Lost says that the connection has ended by itself, or is no longer of use.
func (m *Machine) Lost(now time.Time, err error) []Effect {
	if m.conn == connUp {
		m.lose(now, err)
	}
	return m.effects()
}

// lose drops the connection and decides when the server is dialled again.
func (m *Machine) lose(now time.Time, err error) {
	if now.Sub(m.since) >= m.policy.Calm {
		m.forgetFailures()
	} else {
		m.backoff.fail(&m.policy, now)
	}
	m.drop(Abort)
	m.inherit = inheritSession
	if m.status.State != status.AuthRequired { // another connection would not replace the sign-in
		first := m.backoff.waits == 0
		m.status.Err = err
		m.retry(now, status.Lost)
		m.eager = first && m.status.State == status.Reconnecting
	}
}

// Forgotten says that the server has forgotten the session of the connection. Servers let sessions
// expire, so this is no failure: the next dial comes at once.
func (m *Machine) Forgotten(now time.Time, err error) []Effect {
	if m.conn == connUp {
		m.drop(LeaveOpen)
		m.inherit = inheritConnection
		m.status.Err = err
		m.dial(now, status.Lost)
	}
	return m.effects()
}

// AuthRequired says that the server refuses requests until a person signs in. The connection stays,
// because some requests may need no sign-in.
func (m *Machine) AuthRequired(now time.Time, err error) []Effect {
	if m.conn == connUp && m.status.State == status.Connected {
		m.status.Err = err
		m.set(now, status.AuthRequired, status.SignIn)
	}
	return m.effects()
}

// SignedIn says that a person has signed in to the server, or has approved a request that required
// a sign-in.
func (m *Machine) SignedIn(now time.Time) []Effect {
	switch {
	case m.conn == connDialing:
		m.signedIn = true
	case m.status.State != status.AuthRequired:
	case m.conn == connUp:
		m.hear(now)
		m.set(now, status.Connected, status.Ready)
	default:
		m.dial(now, status.Wanted)
	}
	return m.effects()
}

// Disable turns the server off until Enable is called.
func (m *Machine) Disable(now time.Time) []Effect {
	if !m.ended && m.status.State != status.Closing && m.status.State != status.Disabled {
		m.drop(Abort)
		m.set(now, status.Disabled, status.TurnedOff)
		m.refuse(now)
	}
	return m.effects()
}

// Enable undoes Disable. The server is connected if it was wanted before.
func (m *Machine) Enable(now time.Time) []Effect {
	if m.status.State == status.Disabled {
		m.startOver(now, status.Wanted)
	}
	return m.effects()
}

// Close ends the server for good. The last action is End, returned now or by Gone.
func (m *Machine) Close(now time.Time) []Effect {
	if !m.ended && m.status.State != status.Closing {
		m.drop(Abort)
		m.set(now, status.Closing, status.Closed)
		m.refuse(now)
		m.finish(now)
	}
	return m.effects()
}

// Gone says that the connection or dial of the newest Drop has ended.
func (m *Machine) Gone(now time.Time) []Effect {
	if m.conn == connDropping {
		m.conn = connIdle
		if m.ending == LeaveOpen {
			m.conn = connKept
		}
		m.finish(now)
		m.dialIfDue(now)
	}
	return m.effects()
}

// Tick says that the time is now, and when something last came over the connection. It may come
// early or late, and more often than TickAt asked for.
func (m *Machine) Tick(now, heard time.Time) []Effect {
	m.dialIfDue(now)
	m.askIfDue(now, heard)
	return m.effects()
}

// dialIfDue dials if the time of Next has come.
func (m *Machine) dialIfDue(now time.Time) {
	if next := m.status.Next; m.isResting() && !next.IsZero() && !now.Before(next) {
		m.dial(now, m.status.Reason)
	}
}

// dial asks for a Dial, at once or as soon as the old connection has ended: two processes of one
// server must never run at a time.
func (m *Machine) dial(now time.Time, why status.Reason) {
	m.set(now, m.trying(), why)
	if m.conn == connDropping {
		m.status.Next = now
		return
	}
	m.conn = connDialing
	m.status.Attempt++
	m.do(Effect{Do: Dial, Inherit: m.inherit != inheritNothing})
	if m.inherit == inheritSession { // if this dial fails, the session may be the cause
		m.inherit = inheritNothing
	}
}

// isResting reports whether no dial is under way and no connection is up or ending.
func (m *Machine) isResting() bool { return m.conn == connIdle || m.conn == connKept }

// trying returns the state of a server that is being dialled.
func (m *Machine) trying() status.State {
	if m.known {
		return status.Reconnecting
	}
	return status.Connecting
}

// retry decides when to dial again. Callers wait for the steps of the backoff if the server has
// been connected before, because it may just be restarting. The first error of a new server is most
// likely a mistake that only its user can mend.
func (m *Machine) retry(now time.Time, why status.Reason) {
	wait, step := m.backoff.wait(&m.policy, m.random())
	switch {
	case step:
		m.set(now, m.trying(), why)
	case m.backoff.tripped:
		m.set(now, status.Failed, status.FailsOften)
	default:
		m.set(now, status.Failed, why)
	}
	m.status.Next = now.Add(wait)
	if !step || !m.known {
		m.refuse(now)
	}
}

// permanent reports whether dialling again is of no use before the entry changes.
func permanent(r status.Reason) bool {
	return r == status.BadConfig || r == status.Denied || r == status.PluginRefused
}

// startOver forgets all failures, and dials if the server is wanted.
func (m *Machine) startOver(now time.Time, why status.Reason) {
	m.forgetFailures()
	if m.wanted {
		m.dial(now, why)
		return
	}
	m.set(now, status.Disconnected, status.NotStarted)
}

func (m *Machine) forgetFailures() {
	m.backoff = backoff{}
	m.status.Attempt = 0
}

// drop ends the dial or the connection, or ends it more abruptly than the last Drop. The next dial
// inherits nothing.
func (m *Machine) drop(how Ending) {
	m.inherit = inheritNothing
	switch m.conn {
	case connIdle:
		return
	case connKept, connDialing:
		how = Abort // no calls are in flight
	case connDropping:
		if how <= m.ending {
			return
		}
	}
	m.conn, m.ending, m.signedIn = connDropping, how, false
	m.do(Effect{Do: Drop, How: how})
}

// finish returns End if the machine is closing and no connection is left.
func (m *Machine) finish(now time.Time) {
	if m.status.State == status.Closing && m.conn == connIdle {
		m.ended = true
		m.set(now, status.Disconnected, status.Closed)
	}
}

// set enters a state. It clears Next: unless the caller sets it again, the machine does not
// dial by itself.
func (m *Machine) set(now time.Time, s status.State, why status.Reason) {
	if m.status.State != s {
		m.status.State, m.status.Since = s, now
	}
	m.status.Reason, m.status.Next = why, time.Time{}
	m.eager, m.changed = false, true
}

// refuse sets the refusal for the callers that wait.
func (m *Machine) refuse(now time.Time) {
	r := &UnavailableError{State: m.status.State, Reason: m.status.Reason, Err: m.status.Err, Next: m.status.Next, final: len(m.policy.Backoff) == 0}
	if !r.Next.IsZero() {
		r.In = r.Next.Sub(now)
	}
	if r.Reason == status.FailsOften {
		r.often = fmt.Sprintf("the server failed %d times in %v", m.policy.Failures, m.policy.Window)
	}
	if m.status.Reason == status.TurnedOff || m.status.Reason == status.Closed {
		r.Err = nil
	}
	m.refusal = r
}

func (m *Machine) do(e Effect) { m.out = append(m.out, e) }

// effects returns the actions that an event has led to. It arms a timer for a dial only if nothing
// else is under way, and for an Ask if the connection is up. It announces the status before it
// refuses callers and before a Dial. Otherwise a dial that ends at once could be followed by the
// status from before it, which would mark the lists that the dial brought as stale.
func (m *Machine) effects() []Effect {
	var at time.Time
	if m.isResting() {
		at = m.status.Next
	} else if m.watched() {
		at = m.nextAsk
	}
	if !at.Equal(m.armed) {
		m.armed = at
		m.do(Effect{Do: TickAt, At: at})
	}
	if m.changed {
		at := slices.IndexFunc(m.out, func(e Effect) bool { return e.Do == Dial })
		if at < 0 {
			at = len(m.out)
		}
		m.out = slices.Insert(m.out, at, Effect{Do: Announce})
	}
	if m.refusal != nil {
		m.do(Effect{Do: Refuse, Err: m.refusal})
	}
	if m.ended && m.changed { // this was the last change
		m.do(Effect{Do: End})
	}
	m.changed, m.refusal = false, nil
	out := m.out
	m.out = m.out[:0]
	return out
}
