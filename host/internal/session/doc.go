// Package session keeps one logical connection to one server: it finds out
// which era of the protocol the server speaks, opens each connection the way
// that era wants, and gives every request what the era asks for. The
// connection under a session may end; the next call makes another one.
//
// # Eras
//
// A [dialect] is all that tells the eras apart once a connection is open. How
// it is found is the detection rule in detect.go. A session remembers the
// verdict, because the era belongs to the server and not to the connection, and
// forgets it when a connection that was opened on its strength fails.
//
// # Who may call
//
// All methods of a [Session] may be called from any goroutine, callbacks of its
// own [Config] included. A call that has been handed to a connection is never
// sent twice, with one exception that the protocol asks for: a modern server
// that refuses a request for its protocol version has not looked at it.
package session
