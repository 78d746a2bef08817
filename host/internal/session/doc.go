// Package session keeps one logical connection to one server: it finds out
// which era of the protocol the server speaks, opens each connection the way
// that era wants, and gives every request what the era asks for. The
// connection under a session may end; the next call makes another one.
//
// # Eras
//
// A [dialect] is all that tells the eras apart once a connection is open. How
// it is found is the detection rule in detect.go, and in probe.go for HTTP. A
// session remembers what it found, because the era belongs to the server and not
// to the connection, and forgets it when a connection that was opened on its
// strength fails.
//
// A server behind HTTP may forget a legacy session while the connection goes
// on. The next call, or the one that heard of it, then makes another handshake
// on the same connection: a new epoch, in which nothing that is said late about
// the old one counts.
//
// The connection of such a session may also end while the server keeps the session. If the
// transport left something to go on from, the next connection goes on with the session, in
// its epoch and without a handshake, see resume.go.
//
// # Who may call
//
// All methods of a [Session] may be called from any goroutine, callbacks of its
// own [Config] included. A call that has been handed to a connection is sent a
// second time only where the server has said that it did nothing about the
// first: it refused the version of the protocol, or headers that do not fit, or
// a session that it has forgotten; or it asked for more input.
package session
