// Command compare measures Wharf against the official Go SDK, mcp-go and a
// floor, over stdio, and says which of the project's targets are met. It is a
// module of its own so that the peers are no dependency of Wharf's.
//
//	go run . [-rounds N] [-quick] [-only NAME,...] [-pin on|off|both] [-era legacy|modern] [-json FILE]
//
// # Method
//
// All contestants call one server, which is this program too: one goroutine on
// blocking system calls that is never the slowest part. It refuses
// server/discover, so everyone speaks the legacy era as it does by default with
// such a server; -era=modern has everyone speak revision 2026-07-28. All pass
// the arguments as a map and read the text out of the typed result; the length
// of every reply is checked, and the content of the first.
//
// The floor is a raw pipe exchange: finished requests are written, answers are
// found by newline and id, the members of the envelope are found without
// decoding any. It has the multiplexing that a client needs, by the cheapest way
// known. It does the same in both eras.
//
// Every measure of every contestant runs in a process of its own, which warms up
// before it counts. The rounds are interleaved and the order rotates; a figure
// is the median over the rounds, a ratio the median of ratios within a round. A
// run during which others kept more than 0.12 processors busy is repeated.
//
// Pinned runs have client and server on one processor. That is the steady
// figure for latency: unpinned, 100 B are bimodal, because waking the other
// processor takes as long as several calls. Throughput is judged unpinned.
//
// CPU is the user and system time of the client process alone. Allocations are
// those of the whole process, per call, the caller's map included. A flood
// counts as heard when the caller's own function was called for every
// notification.
package main
