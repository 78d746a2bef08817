// Command compare measures Wharf against the official Go SDK, mcp-go and a
// floor, over stdio, Streamable HTTP and unix sockets, and says which of the project's
// targets are met. It is a module of its own so that Wharf does not depend on the
// peers.
//
//	go run . [-rounds N] [-quick] [-only NAME,...] [-pin on|off|both] [-era legacy|modern] [-tuned] [-json FILE] [-figures FOLDER]
//
// A NAME is a contestant, a measure, or one of the groups stdio, http and memory, which are
// all measures of that kind. The group scale is described below; it is measured only if
// its name or that of one of its curves is given.
//
// # Method
//
// All contestants call one server, which is this program too and never the
// slowest part. Over stdio it is one goroutine on blocking system calls, over HTTP one
// for each connection, with just enough of HTTP/1.1. It refuses server/discover, so
// every contestant speaks the legacy era, as by default with such a server. With
// -era=modern all speak revision 2026-07-28. All pass the arguments as a map and read
// the text from the typed result. The length of every reply is checked, and the
// content of the first.
//
// The floor over stdio is a raw pipe exchange. It writes finished requests, finds answers
// by newline and id, and finds the members of the envelope without decoding any. It has
// the multiplexing that a client needs, in the cheapest known way. Over HTTP it is
// net/http alone: a transport that keeps every connection posts finished requests, and
// the answers are read in the same way. It does the same in both eras.
//
// Over HTTP the server answers in JSON, or with an event in a chunked stream, as a server
// does that may have more to say. Either is one write. The server gives no session id and
// has no stream to listen to. The peers have their default HTTP client, which keeps two
// connections; with -tuned they keep enough.
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
// Memory is that of the client process alone, with 100 connections to as many
// servers, or with 100 more over HTTP to one process. Each has listed its tools,
// made a call, and been idle for three seconds. It is measured after a garbage
// collection, with free memory given back to the system. Resident counts each page once,
// and also the pages of files in memory that are not mapped; rss and pss are as the
// system counts them. The program is the same for all, with all contestants linked in;
// before is its memory when nothing was opened.
//
// CPU is the user and system time of the client process alone. Allocations are
// those of the whole process, per call, the caller's map included. Connections
// are counted by the server, from the first request to the last answer, the
// warming up included. A flood counts as heard when the caller's own function
// was called for every notification.
//
// # Scale
//
// A curve shows how figures grow with one thing: connections (stdio, unix socket,
// HTTP), the size of what is echoed, the tools in a list, or the callers of one
// connection (stdio, HTTP). Each of its points is a measure, of one round and on
// all processors unless flags say otherwise. Where connections grow, there are
// always sixteen callers, which share the connections out. So only the number of
// connections differs between two points. Every connection has
// listed its tools and made a call before, and rested for three seconds.
//
// Memory at rest is what the measures of memory call resident, weighed before the
// callers begin; memory at most is the peak of the resident size. The peers have no
// transport for a unix socket, but one for any stream, which gets the socket. Over
// HTTP a connection is a session. Each contestant decides how many TCP connections it
// takes, and a peer may share them.
//
// A point that cannot be taken is left out, and the report says why: 10,000
// connections need as many file descriptors in one process (ulimit -Hn; Go raises
// the soft limit by itself), and 1,000 over stdio as many processes.
//
// The data of each curve is written to docs/figures as NAME.csv, and a description of the
// run to run.txt. ./draw makes NAME.svg from the data; `go run ./draw FOLDER` draws the
// existing data again.
package main
