//go:build !wasip1

// Package sdktest runs transports natively against a fake host, without a
// sandbox, so that their tests are fast, debuggable and run in parallel under
// the race detector.
//
// A test is most often a call trace: a text that says which events come in and
// what the transport does with each, in the lines that a host prints too when
// it is asked to trace. Bytes stand below the line that they belong to:
//
//	# A line in one chunk is two host calls.
//	--> event(DATA, 1, 0, 58)
//	    | `{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{}}}` "\n"
//	  <-- scan(0, "\n") = 57
//	  <-- deliver(0, 0, 57, END) = ANSWER
//	--> = 0
//
// A piece of bytes is a quoted Go string, or the name of a block and its value
// in the JSON of the ABI's vectors (facts, settings, manifest, head). Several
// pieces, on one line or on more, stand one after the other. An event has all
// of its bytes, but for an OPENED that is SEALED, whose bytes no host shows: there
// the number is enough. A host call may leave out the bytes it carries, and then
// they are not compared. Lines that begin with # are prose.
//
// [Run] plays a trace and [RunFiles] a folder of them. [Host] is the fake host
// without a script, for tables and fuzzing. A module in a sandbox can be played
// to as well, by [Play] with a host from [NewFor]; a host that is itself under
// test feeds the steps of a [Trace] in its own way and compares with [Diff].
package sdktest
