// Package capability opens what a server entry grants, and nothing else: child
// processes, unix and tcp sockets, HTTP exchanges, and timers. It is the only
// package of Wharf that may import os/exec, net or net/http.
//
// A [Table] belongs to one connection. It is made from the grants of one
// server entry; a guest names a grant, never a target. What is opened has two
// sides: a [hostio.Stream], which the owner of the guest writes to and which never
// blocks, and a [hostio.Sink], which hears from goroutines of the handle what came
// back. Between the two lie the rules that hold for every kind:
//
//   - Reading never stops because writing is stuck, and the other way round.
//   - One chunk of 64 KiB is in flight for each handle; Data returns when the
//     receiver is done with it, and that is the backpressure on the server.
//   - A peer that takes no byte for ten seconds while bytes wait is given up.
//   - Closing is bounded: a process goes with everything that it started.
//
// Over HTTP a handle is one exchange ([httpclient.Origin]). Its request is whole before it
// is sent, so it can be sent again, signed in or to where a redirect within the
// grant leads. A sink may take a short one over ([hostio.InlineSink]), so that the caller who
// waits for the answer fetches it: nothing is handed over to a goroutine and back.
// What is long, or may hold a caller up, runs on a goroutine of the table. What names the server or signs us in is added on this side of the
// guest, and what the server says about either stays here. Everything that a
// server can draw out has a timer, and everything that it can make large a bound;
// only an event stream may go on for ever, as long as it is not silent.
//
// Auth providers perform no I/O either, and what the host does for them is here
// as well: a [egress.Fetcher] makes their exchanges within their [egress.Policy], a [egress.Callback] is
// where a browser comes back to, [egress.OpenBrowser] shows a page, and [process.Process.Run]
// runs a helper command to its end.
//
// A new kind of open is a target with a Kind and a hold method, in a file of its
// own (process.go, socket.go and origin.go are those there are), and its entry in
// kinds.
package capability
