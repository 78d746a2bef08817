// Package httpclient makes the HTTP exchanges of a guest with one [Origin].
//
// A handle is one exchange. Its request is complete before it is sent, so it can be
// sent again: signed in by [Credentials], or to where a redirect within the grant
// leads. A sink may run a short exchange on the goroutine that waits for its answer
// ([hostio.InlineSink]); all others run on a goroutine of the table. What names the
// server or signs a request in is added here, and what the server says about either
// stays here: no guest sees it. Everything that a server can draw out has a timer, and
// everything that it can make large has a bound; only an event stream may go on for
// ever, as long as it is not silent.
//
// The files, from types to operations: url and headers (what may be said), credentials
// and origin (the grant), errors, phasetimer, client (the connections), transaction, signing, challenge,
// response and perform (one request until its answer), exchange and upgrade (handles), open
// (which of them a request gets).
package httpclient
