// Package rpc correlates JSON-RPC messages over one connection. A [Peer] gives every
// request an id, keeps the call until it ends, and finds the call of every inbound
// message. It does not know how messages travel: it sends through a [Link] and receives
// through [Peer.Deliver].
//
// # Every call ends exactly once
//
// A call is pending from the moment it has a number until one event takes it out of the table of
// pending calls: its answer, its deadline, its own context, the transport's word that nothing will
// come, or the end of the connection. All of that happens in inflight.go, under one mutex. The
// event that takes the call out decides how it ends. Every later event finds no call.
//
// An error says what is known about the message, see [Sent]: it was not sent, it may have been
// sent, or its answer cannot be used.
//
// # What runs where
//
// There is no goroutine per call and none per notification. The goroutine that delivers an answer
// hands it to the caller. A caller that waits may be given I/O to run meanwhile
// ([hostio.InlineIO]), and may deliver its own answer in this way. While it runs the I/O, it does
// not see its call end. So the event that ends the call stops the I/O too.
//
// The server's requests run on a bounded number of goroutines. Its notifications run in order on
// one goroutine, which exists while any are queued. The handler sees each notification once before
// that, on arrival ([Handler.Preempt]): a notification that is queued before it may be waiting for
// its effect. A goroutine of the same kind sends the messages that no caller waits for (refusals,
// cancellations). These goroutines end by themselves when the connection is closed and their
// current callback has returned. Close does not wait for them.
//
// # The serving role
//
// With [Config.Serving] the other side is a client. Its ids come back byte by byte. A reply is not
// urgent, so it comes after every notification that was sent before it, and it waits for room: a
// client that reads slowly is waited for. A request that cannot be read is answered with an error,
// under its id if that can be read. Refusals are not dropped; a link that calls [Peer.AwaitRoom]
// before it reads on bounds them.
//
// # What is refused
//
// An inbound message is one JSON object by the rules of package strictjson. It has "jsonrpc" "2.0",
// and members whose names are spelled exactly and occur once. Any other message ends at most the
// one call that its id names.
package rpc
