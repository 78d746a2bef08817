package manager

import (
	"fmt"
	"time"
)

// Action is what an effect asks for.
type Action uint8

// What there is to do.
const (
	// Dial: make a connection now. Answer with Connected or ConnectFailed.
	Dial Action = iota

	// DialAt: call Tick at At. It replaces the DialAt before; a zero At is never.
	DialAt

	// Drop: close the connection, or give the dial up. Answer with Gone once
	// nothing is left of it, however the dial went. No Dial comes before that.
	Drop

	// Refuse: whoever waits for a connection gets Err.
	Refuse

	// Announce: the status has changed.
	Announce

	// End: nothing is left and nothing more will be done.
	End
)

var actions = [...]string{"dial", "dial-at", "drop", "refuse", "announce", "end"}

func (a Action) String() string { return actions[a] }

// Effect is something that the owner of a machine has to do.
type Effect struct {
	Do  Action
	At  time.Time // of DialAt
	Err error     // of Refuse: a *Refusal
}

// line is what there is of a connection. It is apart from the state because a
// server may be disabled, say, while its connection is still going away.
type line uint8

const (
	idle     line = iota
	dialing       // Dial was asked for
	up            // Connected
	dropping      // Drop was asked for, and Gone has not come yet
)

// Machine decides when one server is dialled and what its callers are told. Its
// methods are events, with the time at which they happen; times never go back.
// Each returns what is to be done, in that order, in a slice that is good until
// the next event. An event that does not fit the state has no effect, so late
// ones do no harm. A machine is for one goroutine at a time.
type Machine struct {
	policy Policy
	random func() float64

	status Status
	line   line
	kept   bool // somebody has wanted the server
	known  bool // it was connected before, with the entry that it has
	hasty  bool // a caller need not wait for Next
	signed bool // a sign-in came while the dial was under way
	held   setback
	since  time.Time // when the line came up
	over   bool      // End has been said, or is about to be

	armed   time.Time // the last DialAt
	changed bool      // the status, since the last Announce
	refusal error     // for those who wait; nil is none
	out     []Effect
}

// NewMachine returns the machine of a server that nobody wants yet. random gives
// numbers from 0 up to 1.
func NewMachine(now time.Time, p Policy, random func() float64) *Machine {
	return &Machine{policy: p.withDefaults(), random: random, status: Status{Since: now}}
}

// Status returns how it stands with the server.
func (m *Machine) Status() Status { return m.status }

// Want says that a caller needs a connection, or that the server shall be
// started. If there is none and will be none soon, the answer is Refuse.
func (m *Machine) Want(now time.Time) []Effect {
	switch {
	case m.over || m.status.State == Closing || m.status.State == Disabled:
		m.refuse(now)
	case m.line == up || m.line == dialing:
		m.kept = true
	case m.status.State == Disconnected:
		m.kept = true
		m.dial(now, Wanted)
	case m.status.State == AuthRequired && now.Sub(m.status.Since) >= m.policy.Slow:
		// The person may have signed in with another program. A call that comes
		// a good while later finds that out, at the price of one dial.
		m.dial(now, Wanted)
	case m.status.State == Failed && !m.status.Reason.permanent() && !m.held.tripped:
		m.dial(now, Wanted)
	case m.status.State == Failed || m.status.State == AuthRequired:
		m.refuse(now)
	case m.hasty:
		m.dial(now, Wanted)
	}
	return m.effects()
}

// Connected says that the dial has made a connection.
func (m *Machine) Connected(now time.Time) []Effect {
	if m.line == dialing {
		m.line, m.since, m.known, m.signed = up, now, true, false
		m.set(now, Connected, Ready)
	}
	return m.effects()
}

// ConnectFailed says that the dial has ended without a connection, and left
// nothing behind. A reason that is none for a dial is taken for Unreachable.
func (m *Machine) ConnectFailed(now time.Time, reason Reason, err error) []Effect {
	if m.line != dialing {
		return m.effects()
	}
	m.line, m.status.Err = idle, err
	late := m.signed // the server had not seen the sign-in yet
	m.signed = false
	switch {
	case reason == SignIn && late:
		m.dial(now, Wanted)
	case reason == SignIn:
		m.set(now, AuthRequired, SignIn)
		m.refuse(now)
	case reason.permanent():
		m.set(now, Failed, reason)
		m.refuse(now)
	default:
		m.held.fail(&m.policy, now)
		m.retry(now, Unreachable)
	}
	return m.effects()
}

// Lost says that the connection has ended by itself, or is of no use any more.
func (m *Machine) Lost(now time.Time, err error) []Effect {
	if m.line != up {
		return m.effects()
	}
	if now.Sub(m.since) >= m.policy.Calm {
		m.forgive()
	} else {
		m.held.fail(&m.policy, now)
	}
	m.drop()
	if m.status.State != AuthRequired { // which another connection would not mend
		first := m.held.rung == 0
		m.status.Err = err
		m.retry(now, Lost)
		m.hasty = first && m.status.State == Reconnecting
	}
	return m.effects()
}

// Forgotten says that the server no longer knows the session of the connection.
// Servers let sessions expire, so that is no failure: another is made at once.
func (m *Machine) Forgotten(now time.Time, err error) []Effect {
	if m.line == up {
		m.drop()
		m.status.Err = err
		m.dial(now, Lost)
	}
	return m.effects()
}

// AuthRequired says that the server refuses requests on its connection until a
// person signs in. The connection stays: some requests may need no sign-in.
func (m *Machine) AuthRequired(now time.Time, err error) []Effect {
	if m.line == up && m.status.State == Connected {
		m.status.Err = err
		m.set(now, AuthRequired, SignIn)
	}
	return m.effects()
}

// SignedIn says that a person has signed in to the server, or that a request was
// let through for which that was required.
func (m *Machine) SignedIn(now time.Time) []Effect {
	switch {
	case m.line == dialing:
		m.signed = true
	case m.status.State != AuthRequired:
	case m.line == up:
		m.set(now, Connected, Ready)
	default:
		m.dial(now, Wanted)
	}
	return m.effects()
}

// Disable turns the server off, until Enable.
func (m *Machine) Disable(now time.Time) []Effect {
	if !m.over && m.status.State != Closing && m.status.State != Disabled {
		m.drop()
		m.set(now, Disabled, TurnedOff)
		m.refuse(now)
	}
	return m.effects()
}

// Enable undoes Disable. The server is connected if it was wanted before.
func (m *Machine) Enable(now time.Time) []Effect {
	if m.status.State == Disabled {
		m.begin(now, Wanted)
	}
	return m.effects()
}

// Change says that the entry of the server, its plugin or what they depend on has
// changed: all that was held against it is void, and a connection that stands is
// made anew. Callers that wait go on waiting.
func (m *Machine) Change(now time.Time) []Effect {
	if m.over || m.status.State == Closing {
		return m.effects()
	}
	m.known, m.status.Err = false, nil
	m.drop()
	if m.status.State != Disabled {
		m.begin(now, Changed)
	}
	return m.effects()
}

// Close ends the server for good. The last effect is End, now or after Gone.
func (m *Machine) Close(now time.Time) []Effect {
	if !m.over && m.status.State != Closing {
		m.drop()
		m.set(now, Closing, Closed)
		m.refuse(now)
		m.finish(now)
	}
	return m.effects()
}

// Gone says that nothing is left of what was to be dropped.
func (m *Machine) Gone(now time.Time) []Effect {
	if m.line == dropping {
		m.line = idle
		m.finish(now)
		m.due(now)
	}
	return m.effects()
}

// Tick says that it is now. It may come early or late, and more often than asked
// for.
func (m *Machine) Tick(now time.Time) []Effect {
	m.due(now)
	return m.effects()
}

// due dials when it is time to.
func (m *Machine) due(now time.Time) {
	if next := m.status.Next; m.line == idle && !next.IsZero() && !now.Before(next) {
		m.dial(now, m.status.Reason)
	}
}

// dial asks for a connection, or for one as soon as the old one is gone: a
// server's processes must never be two.
func (m *Machine) dial(now time.Time, why Reason) {
	m.set(now, m.trying(), why)
	if m.line == dropping {
		m.status.Next = now
		return
	}
	m.line = dialing
	m.status.Attempt++
	m.do(Effect{Do: Dial})
}

// trying is the state of a server that is being reached.
func (m *Machine) trying() State {
	if m.known {
		return Reconnecting
	}
	return Connecting
}

// retry decides when to try again. Callers wait for the steps of the ladder, if
// the server has been well before: it may just be restarting. The first error of
// a new server is most likely a mistake that nothing but its user can mend.
func (m *Machine) retry(now time.Time, why Reason) {
	wait, step := m.held.wait(&m.policy, m.random())
	switch {
	case step:
		m.set(now, m.trying(), why)
	case m.held.tripped:
		m.set(now, Failed, FailsOften)
	default:
		m.set(now, Failed, why)
	}
	m.status.Next = now.Add(wait)
	if !step || !m.known {
		m.refuse(now)
	}
}

// begin starts with a clean sheet, if the server is wanted.
func (m *Machine) begin(now time.Time, why Reason) {
	m.forgive()
	if m.kept {
		m.dial(now, why)
		return
	}
	m.set(now, Disconnected, NotStarted)
}

func (m *Machine) forgive() {
	m.held = setback{}
	m.status.Attempt = 0
}

// drop asks for the end of the connection or the dial that there is.
func (m *Machine) drop() {
	if m.line == dialing || m.line == up {
		m.line, m.signed = dropping, false
		m.do(Effect{Do: Drop})
	}
}

// finish is the end, if it is time for it.
func (m *Machine) finish(now time.Time) {
	if m.status.State == Closing && m.line == idle {
		m.over = true
		m.set(now, Disconnected, Closed)
	}
}

// set enters a state, in which nothing is tried by itself unless the caller goes
// on to set Next.
func (m *Machine) set(now time.Time, s State, why Reason) {
	if m.status.State != s {
		m.status.State, m.status.Since = s, now
	}
	m.status.Reason, m.status.Next = why, time.Time{}
	m.hasty, m.changed = false, true
}

// refuse tells those who wait that there is no connection, and why.
func (m *Machine) refuse(now time.Time) {
	r := &Refusal{State: m.status.State, Reason: m.status.Reason, Err: m.status.Err, Next: m.status.Next}
	if !r.Next.IsZero() {
		r.In = r.Next.Sub(now)
	}
	if r.Reason == FailsOften {
		r.often = fmt.Sprintf("the server failed %d times in %v", m.policy.Failures, m.policy.Window)
	}
	if m.status.Reason == TurnedOff || m.status.Reason == Closed {
		r.Err = nil
	}
	m.refusal = r
}

func (m *Machine) do(e Effect) { m.out = append(m.out, e) }

// effects returns what an event has led to. A timer is armed only while nothing
// else is under way. Whoever is refused finds that announced already.
func (m *Machine) effects() []Effect {
	var at time.Time
	if m.line == idle {
		at = m.status.Next
	}
	if !at.Equal(m.armed) {
		m.armed = at
		m.do(Effect{Do: DialAt, At: at})
	}
	if m.changed {
		m.do(Effect{Do: Announce})
	}
	if m.refusal != nil {
		m.do(Effect{Do: Refuse, Err: m.refusal})
	}
	if m.over && m.changed { // which is the last change
		m.do(Effect{Do: End})
	}
	m.changed, m.refusal = false, nil
	out := m.out
	m.out = m.out[:0]
	return out
}
