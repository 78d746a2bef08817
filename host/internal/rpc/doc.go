// Package rpc correlates JSON-RPC messages over one connection. A [Peer] gives
// every request an id, remembers who waits for it, and finds out of every
// inbound message whose it is. It knows nothing of how messages travel: it
// sends through a [Link] and receives through [Peer.Deliver].
//
// # Every call ends exactly once
//
// A call is pending from the moment it has a number until somebody takes it out
// of the table of pending calls: the answer, the deadline, its own context, the
// transport's word that nothing will come, or the end of the connection. All of
// these happen in inflight.go, under its one mutex. Whoever takes a call out
// decides how it ends; everybody else finds it gone.
//
// An error says what is known about the message, see [Sent]: not sent, maybe
// sent, or answered in a way that nobody can use.
//
// # What runs where
//
// There is no goroutine per call and none per notification. Answers are handed
// to their callers by whoever delivers, which may be the caller: one who waits
// anyway runs what its message leaves to do ([hostio.InlineIO]). It does not see then how
// its call ends, so whoever ends it stops the errand too. What a server asks and
// tells runs beside that: requests on a bounded number of goroutines,
// notifications in order on one that is there while there are any. What they mean
// to the handler itself is done before that, as they arrive ([Handler.Heed]),
// because what it calls may be waiting for one that is behind others. What nobody
// waits for (a refusal, a cancellation) leaves through a courier of the same kind.
// All of them end by themselves once the connection is closed and what they call
// has returned; nothing waits for them.
//
// # What is refused
//
// An inbound message is one JSON object by the rules of package strictjson, with
// "jsonrpc" "2.0" and members whose names are spelled exactly, none of them
// twice. A message that is not ends at most the one call that its id names.
package rpc
