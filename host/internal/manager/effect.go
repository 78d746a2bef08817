package manager

import "time"

// Action is what an effect asks for.
type Action uint8

// What there is to do.
const (
	// Dial: make a connection now. With Inherit it may go on with what the connection
	// before has left. Answer with Connected or ConnectFailed.
	Dial Action = iota

	// TickAt: call Tick at At, for a dial or for an Ask. It replaces the TickAt before; a
	// zero At is never.
	TickAt

	// Drop: end the connection in the way of How. If a dial is under way, give it up whatever
	// its outcome, and end the connection that was kept for it. Answer with Gone once that is
	// done. Until then no Dial comes, but perhaps another, more abrupt Drop.
	Drop

	// Refuse: callers that wait for a connection get Err.
	Refuse

	// Announce: the status has changed.
	Announce

	// Ask: ask the server for a sign of life over the connection, which has to come within
	// Within. Answer with Answered or Silent.
	Ask

	// End: nothing is left and nothing more will be done.
	End
)

// Effect is something that the owner of a machine has to do.
type Effect struct {
	Do      Action
	At      time.Time     // of TickAt
	Err     error         // of Refuse: an *UnavailableError
	How     Ending        // of Drop
	Inherit bool          // of Dial
	Within  time.Duration // of Ask
}

// Ending is how a connection ends, from the gentlest to the most abrupt.
type Ending uint8

// The ways in which a connection ends. No call is given to it any more in any of them.
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

// DrainTime is how long calls may go on over a connection that makes room for another:
// the callers of the other wait for that.
const DrainTime = 10 * time.Second
