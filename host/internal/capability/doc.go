// Package capability holds what one connection may open and has open: the grants of a server entry,
// their handles, limits and timers. It also translates errors into the statuses that a guest sees.
//
// A [Table] belongs to one connection. A guest names a grant, never a target. A [Target] is the
// kind of thing that a grant allows to open, in a package below this one:
//
//	capability/stream      unix, TCP and TLS sockets, streams within this process
//	capability/process     child processes; the only package that imports os/exec
//	capability/httpclient  HTTP exchanges with one origin, and signing them in
//	capability/dial        what those share of dialling: addresses, TLS, errors
//
// An open handle has two sides: a [hostio.Stream], which the owner of the guest writes to and which
// never blocks, and a [hostio.Sink], which the goroutines of the handle call. These rules hold for
// every kind:
//
//   - Reading never stops because writing is stuck, and the other way round.
//   - One chunk of 64 KiB is in flight for each handle. Data returns when the receiver
//     is done with it, and that is the backpressure on the server.
//   - A peer that takes no byte for ten seconds while bytes wait is given up.
//   - Closing is bounded: a process goes with everything that it started.
//
// A new kind of open is a Target and an [Opener] in a package of its own, whose handles
// embed a [Slot], and an entry in kinds.
package capability
