// Package session keeps one logical connection to one server. It detects the era of the protocol
// that the server speaks, opens each connection in the way of that era, and adds to every request
// what the era requires. When the connection of a session ends, the next call makes another one.
//
// # Eras
//
// Once a connection is open, the eras differ only in their [dialect]. The rule of detection is in
// detect.go and, for HTTP, in probe.go. A session remembers the era, because the era belongs to the
// server and not to the connection. It forgets the era when a connection that was opened in that
// era fails.
//
// A server behind HTTP may forget a legacy session while the connection goes on. The call that
// learns of this, or the next one, makes another handshake on the same connection. A new epoch
// begins, in which late messages about the old session count for nothing.
//
// The connection of such a session may also end while the server keeps the session. If the
// transport left something to go on from, the next connection goes on with the session, in
// its epoch and without a handshake, see resume.go.
//
// # Who may call
//
// Any goroutine may call the methods of a [Session], callbacks of its own [Config] included. Once a
// connection has taken a call, the call is sent a second time only if the server has said that it
// did nothing about the first: it refused the version of the protocol, or headers that do not fit,
// or a session that it has forgotten; or it asked for more input.
package session
