package manager

import (
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/host/status"
)

// Pulse is how a connection is watched that is not used: a server that hangs does not end
// it. The zero value is not at all.
type Pulse struct {
	Every   time.Duration // without a message, after which the server is asked for a sign of life
	Timeout time.Duration // for that; a server that has missed it twice in a row is taken for lost
}

// Answered says that the server has given the sign of life that it was asked for.
func (m *Machine) Answered(now time.Time) []Effect {
	if m.conn == up && m.asked {
		m.asked = false
		m.hear(now)
	}
	return m.effects()
}

// Silent says that it has not, and when something last came over the connection. The
// connection is lost at the second time, unless something came.
func (m *Machine) Silent(now, heard time.Time) []Effect {
	if m.conn != up || !m.asked {
		return m.effects()
	}
	m.asked = false
	switch {
	case m.status.State != status.Connected:
		m.hear(now) // its silence is told of by its state
	case heard.After(m.heard):
		m.hear(heard)
	case m.silent:
		m.lose(now, fmt.Errorf("no sign of life for %v", now.Sub(m.heard).Round(time.Second)))
	default:
		m.silent = true
		m.ask()
	}
	return m.effects()
}

// Tune says that the policy is another from now on, and how a connection is watched. Nothing
// that is under way ends, neither the connection nor a wait that has begun; the time without
// a sign of life counts anew.
func (m *Machine) Tune(now time.Time, policy Policy, pulse Pulse) []Effect {
	m.policy = policy.withDefaults()
	if m.conn == up && m.pulse != pulse {
		m.pulse, m.asked = pulse, false
		m.hear(now)
	}
	return m.effects()
}

// lookFor asks for a sign of life when it is time to.
func (m *Machine) lookFor(now, heard time.Time) {
	if m.watched() && heard.After(m.heard) {
		m.hear(heard)
	}
	if m.watched() && !now.Before(m.look) {
		m.ask()
	}
}

// watched reports whether it is looked for signs of life, and none was asked for.
func (m *Machine) watched() bool {
	return m.conn == up && m.status.State == status.Connected && m.pulse.Every > 0 && !m.asked
}

// hear notes a sign of life.
func (m *Machine) hear(at time.Time) {
	m.heard, m.silent = at, false
	m.look = at.Add(spread(m.pulse.Every, m.random()))
}

func (m *Machine) ask() {
	m.asked = true
	m.do(Effect{Do: Ask, Within: m.pulse.Timeout})
}
