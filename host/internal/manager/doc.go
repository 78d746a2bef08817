// Package manager keeps connections to many servers. It decides when to dial, when to wait and when
// to give up, and how a connection ends. Its caller defines what a connection is and makes it, so
// the only I/O here is in calls of a [DialFunc] and of its [Conn].
//
// # Parts
//
// A [Machine] decides. It has no goroutines, timers or clock. Its methods are the events of one
// server, each with its time, and return the actions to take. A [Driver] takes these actions for
// one server, and owns its connection. A [Manager] bounds how many drivers dial at a time, and a
// [StatusRegistry] holds the statuses of all.
//
// # The life of a connection
//
//	disconnected ──want──► connecting ───────► connected ──lost──► reconnecting ─┐
//	                        │  ▲  │               ▲                  │  ▲        │
//	                        └──┘  │               └──────────────────┴──┴────────┘
//	                      backoff ▼                               backoff
//	                           failed: slow retry, breaker, or until the entry changes
//
// The first caller that wants a connection makes its server connect. From then on the server is
// kept connected. A dial that failed, or a lost connection, is retried after the steps of a
// backoff. After the last step it is retried slowly. A server that failed too often in too short a
// time trips a breaker: until the next slow retry, calls fail at once and say so.
//
// The backoff and the breaker are reset only after a connection has lasted. Otherwise a server that
// starts well and fails at once would be started as fast as it fails, without end. A failure that
// another try cannot mend is not retried: after a mistake in the configuration the machine waits
// for another configuration, and after a missing sign-in for a person.
//
// # How a connection ends
//
//	what happens              calls in flight    what the next dial may go on with
//	───────────────────────── ────────────────── ──────────────────────────────────────
//	it is lost                end with it        the session that the server keeps
//	the server forgot it      go on              the connection itself, which stays open
//	another plugin carries it have [DrainTime]   the session that the server keeps
//	its entry changed         have [DrainTime]   nothing
//	disabled, closed          end with it        nothing
//
// A [Driver] has at most one connection, and gives it to callers until it is dropped. The next dial
// begins when that connection has ended. A session is offered to one dial only. A connection that
// was kept is offered to each dial until one has made another handshake on it. It is closed when it
// is no longer wanted.
package manager
