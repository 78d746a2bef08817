// Package httpclient makes the HTTP exchanges of a guest with one [Origin].
//
// A handle is one exchange. Its request is complete before it is sent, so it can be sent again:
// signed in by [Credentials], or to the target of a redirect within the grant. A sink may run a
// short exchange on the goroutine that waits for its answer ([hostio.InlineSink]). All others run
// on a goroutine of the table. The package adds to a request what names the server or signs in, and
// removes from an answer what the server says about either, so no guest sees it. Whatever a server
// can delay has a timer, and whatever it can make large has a bound. Only an event stream may go on
// for ever, as long as it is not silent.
//
// The files, from types to operations: url and headers (what may be said), credentials
// and origin (the grant), errors, phasetimer, client (the connections), transaction, signing, challenge,
// response and perform (one request until its answer), exchange and upgrade (handles), open
// (which of them a request gets).
package httpclient
