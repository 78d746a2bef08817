// Package capability opens what a server entry grants, and nothing else: child
// processes, unix and tcp sockets, and timers. It is the only package of Wharf
// that may import os/exec or net.
//
// A [Table] belongs to one connection. It is made from the grants of one
// server entry; a guest names a grant, never a target. What is opened has two
// sides: a [Stream], which the owner of the guest writes to and which never
// blocks, and a [Sink], which hears from goroutines of the handle what came
// back. Between the two lie the rules that hold for every kind:
//
//   - Reading never stops because writing is stuck, and the other way round.
//   - One chunk of 64 KiB is in flight for each handle; Data returns when the
//     receiver is done with it, and that is the backpressure on the server.
//   - A peer that takes no byte for ten seconds while bytes wait is given up.
//   - Closing is bounded: a process goes with everything that it started.
//
// A new kind of open is a type with a Kind and a serve method, in a file of its
// own (process.go and socket.go are the two there are), and its entry in kinds.
package capability
