// Package rpc correlates JSON-RPC messages over one connection. A [Peer] gives every
// request an id, keeps the call until it ends, and finds the call of every inbound
// message. It does not know how messages travel: it sends through a [Link] and receives
// through [Peer.Deliver].
//
// # Every call ends exactly once
//
// A call is pending from the moment it has a number until it is taken out of the table of
// pending calls: by its answer, its deadline, its own context, the transport's word that
// nothing will come, or the end of the connection. All of that happens in inflight.go,
// under one mutex. What takes a call out decides how it ends; everything that comes later
// does not find it.
//
// An error says what is known about the message, see [Sent]: not sent, maybe sent, or
// answered in a way that cannot be used.
//
// # What runs where
//
// There is no goroutine per call and none per notification. The goroutine that delivers an
// answer hands it to its caller. A caller that waits may be given I/O to run meanwhile
// ([hostio.InlineIO]), and may so deliver its own answer. It does not see then how its
// call ends, so what ends the call stops the I/O too.
//
// Requests of the server run on a bounded number of goroutines. Its notifications run in
// order on one goroutine, which exists while there are any. The handler sees a
// notification once before that, as it arrives ([Handler.Preempt]), because what it does
// may be awaited by one that is queued before it. Messages that no caller waits for
// (refusals, cancellations) are sent by a goroutine of the same kind. These goroutines end
// by themselves when the connection is closed and the callback that they are in returns;
// Close does not wait for them.
//
// # What is refused
//
// An inbound message is one JSON object by the rules of package strictjson, with
// "jsonrpc" "2.0" and members whose names are spelled exactly, none of them twice. A
// message that is not ends at most the one call that its id names.
package rpc
