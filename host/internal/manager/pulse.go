package manager

import (
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/host/status"
)

// Pulse says how an idle connection is watched, because a server that hangs does not end its
// connection. The zero value watches nothing.
type Pulse struct {
	Every   time.Duration // the time without a message after which the server is asked for a sign of life
	Timeout time.Duration // the time for the answer; after two misses in a row the connection is lost
}

// Answered says that the server has answered the Ask.
func (m *Machine) Answered(now time.Time) []Effect {
	if m.conn == connUp && m.asked {
		m.asked = false
		m.hear(now)
	}
	return m.effects()
}

// Silent says that the server has not answered the Ask, and when something last came over the
// connection. After the second Silent in a row the connection is lost, unless something came.
func (m *Machine) Silent(now, heard time.Time) []Effect {
	if m.conn != connUp || !m.asked {
		return m.effects()
	}
	m.asked = false
	switch {
	case m.status.State != status.Connected:
		m.hear(now) // the status already says that the server is silent
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

// SetPolicy sets another policy, and how the connection is watched. It interrupts neither the
// connection nor a wait. The time without a sign of life begins anew.
func (m *Machine) SetPolicy(now time.Time, policy Policy, pulse Pulse) []Effect {
	m.policy = policy.withDefaults()
	if m.conn == connUp && m.pulse != pulse {
		m.pulse, m.asked = pulse, false
		m.hear(now)
	}
	return m.effects()
}

// askIfDue asks for an Ask if it is time for one.
func (m *Machine) askIfDue(now, heard time.Time) {
	if m.watched() && heard.After(m.heard) {
		m.hear(heard)
	}
	if m.watched() && !now.Before(m.nextAsk) {
		m.ask()
	}
}

// watched reports whether the connection is watched and no Ask is open.
func (m *Machine) watched() bool {
	return m.conn == connUp && m.status.State == status.Connected && m.pulse.Every > 0 && !m.asked
}

// hear notes a sign of life at a time.
func (m *Machine) hear(at time.Time) {
	m.heard, m.silent = at, false
	m.nextAsk = at.Add(spread(m.pulse.Every, m.random()))
}

func (m *Machine) ask() {
	m.asked = true
	m.do(Effect{Do: Ask, Within: m.pulse.Timeout})
}
