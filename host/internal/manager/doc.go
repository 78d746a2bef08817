// Package manager keeps connections to many servers: it knows when to dial,
// when to wait and when to give up, and it tells whoever wants to know. What a
// connection is and how it is made is its caller's business, so there is no I/O
// here beside the calls of a Dial and of the Conn that came from it.
//
// # Parts
//
// A [Machine] decides. It is a value without goroutines, timers or a clock: its
// methods are what happens to one server, each with the time at which it
// happens, and return what is to be done about it. A [Driver] does that for one
// server, a [Fleet] has the drivers take turns, and a [Board] shows what came
// of it.
//
// # When a connection is made
//
//	disconnected ──want──► connecting ───────► connected ──lost──► reconnecting ─┐
//	                        │  ▲  │               ▲                  │  ▲        │
//	                        └──┘  │               └──────────────────┴──┴────────┘
//	                      ladder  ▼                               ladder
//	                           failed: slow retry, breaker, or until the entry changes
//
// A server is connected when it is first wanted, and from then on it is kept. A
// connection that cannot be made, or that was lost, is tried again after the
// steps of a ladder. After the last step it is tried slowly. A server that
// failed too often in too short a time trips a breaker: until the next slow
// retry, calls fail at once and say so.
//
// Both are forgiven after the connection has lasted, and not before: a server
// that starts well and falls over at once would otherwise be started for ever,
// as fast as it falls. What trying again cannot mend is not tried again: a
// mistake in the configuration waits for another configuration, and a sign-in
// for a person.
package manager
