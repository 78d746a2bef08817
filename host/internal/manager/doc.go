// Package manager keeps connections to many servers. It decides when to dial, when to
// wait and when to give up, and how a connection ends. What a connection is and how it is
// made is the business of its caller, so there is no I/O here beside the calls of a
// [DialFunc] and of the [Conn] that it made.
//
// # Parts
//
// A [Machine] decides. It is a value without goroutines, timers or a clock: its methods are
// the events of one server, each with the time at which it happens, and return what has to be
// done about it. A [Driver] does that for one server, and owns its connection. A [Manager]
// bounds how many drivers dial at a time, and a [StatusRegistry] has the statuses of all.
//
// # The life of a connection
//
//	disconnected ──want──► connecting ───────► connected ──lost──► reconnecting ─┐
//	                        │  ▲  │               ▲                  │  ▲        │
//	                        └──┘  │               └──────────────────┴──┴────────┘
//	                      backoff ▼                               backoff
//	                           failed: slow retry, breaker, or until the entry changes
//
// A server is connected when its connection is first wanted. From then on it is kept
// connected. A connection that cannot be made, or that was lost, is tried again after the
// steps of a backoff. After the last step it is tried slowly. A server that failed too often
// in too short a time trips a breaker: until the next slow retry, calls fail at once and say
// so.
//
// Both are forgiven after a connection has lasted, and not before. Otherwise a server that
// starts well and falls over at once would be started as fast as it falls, without end. A
// failure that another try cannot mend is not tried again: after a mistake in the
// configuration the machine waits for another configuration, and after a missing sign-in for
// a person.
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
// A [Driver] has at most one connection, and gives it to callers until it is dropped. The
// next dial begins when the one before has ended. A session is offered to one dial only;
// a connection that was kept is offered until a dial has made another handshake on it, or
// is closed when it is no longer wanted.
package manager
