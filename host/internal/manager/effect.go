package manager

import "time"

// Action is what an effect asks for.
type Action uint8

// The actions.
const (
	// Dial: make a connection now. With Inherit the dial may use what the previous connection has
	// left. Answer with Connected or ConnectFailed.
	Dial Action = iota

	// TickAt: call Tick at At, for a dial or for an Ask. It replaces the previous TickAt; a zero At
	// means never.
	TickAt

	// Drop: end the connection in the way of How. If a dial is under way, give it up in any case,
	// and end the connection that was kept for it. Answer with Gone once that is done. Until then
	// no Dial comes, but another, more abrupt Drop may.
	Drop

	// Refuse: return Err to the callers that wait for a connection.
	Refuse

	// Announce: publish the status, which has changed.
	Announce

	// Ask: ask the server for a sign of life over the connection. If it comes within Within, answer
	// with Answered, otherwise with Silent.
	Ask

	// End: nothing is left and nothing more will be done.
	End
)

// Effect is an action that the owner of a machine has to take.
type Effect struct {
	Do      Action
	At      time.Time     // of TickAt
	Err     error         // of Refuse: an *UnavailableError
	How     Ending        // of Drop
	Inherit bool          // of Dial
	Within  time.Duration // of Ask
}

// Ending says how a connection ends, from the gentlest way to the most abrupt.
type Ending uint8

// The ways in which a connection ends. In all of them it gets no more calls.
const (
	// LeaveOpen: it stays open for the next dial, which makes another handshake on it.
	LeaveOpen Ending = iota

	// HandOver: calls in flight have DrainTime to end. The next connection may go on with
	// what the server keeps for this one.
	HandOver

	// Drain: calls in flight have DrainTime to end.
	Drain

	// Abort: calls in flight end with it.
	Abort
)

// DrainTime is how long calls may go on over a connection that is being replaced. The callers of
// the next connection wait meanwhile.
const DrainTime = 10 * time.Second
