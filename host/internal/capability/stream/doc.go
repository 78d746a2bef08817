// Package stream carries bytes both ways between a guest and a socket, a pipe or a
// stream within this process.
//
// A [Duplex] is one open stream. Its write side is the writer, which sends to an
// [Output]; on its read side a goroutine passes on what comes from a [Reader] or any
// io.Reader. Targets that only need bytes ([Address], [Sealed], [Memory]) are here;
// processes and upgraded HTTP connections build on Duplex from packages of their own.
package stream
