// Package abi is the contract between Wharf and a transport plugin, a Wasm
// module that speaks one transport of the Model Context Protocol. This comment
// is the normative text; the code below it is its Go form, and the vectors in
// testdata/vectors are its form for every other language.
//
// # The picture
//
// The guest steers, the host carries. The host calls one function of the guest
// with one event; the guest makes a few host calls and returns. It never
// blocks: whatever takes time comes back as a later event. Processes, sockets
// and HTTP exchanges live in the host, and so do the bytes they carry; a guest
// copies bytes into its own memory only to look inside them.
//
//	host                                    guest
//	 │  wharf_event(DATA, 257, 0, 212)  ──►  │
//	 │  ◄──────────────────  scan(0, "\n")   │   where does the line end?
//	 │  211  ───────────────────────────►    │
//	 │  ◄──────  deliver(0, 0, 211, END)     │   these bytes are a message
//	 │  ANSWER  ────────────────────────►    │   a caller waited for it
//	 │  ◄──────────────────────  return 0    │
//
// # What a guest exports
//
//	wharf_abi_1   () -> ()               marks the ABI version; never called
//	wharf_event   (i32 i32 i32 i32) -> i32
//	memory        the memory that every pointer below means
//	_initialize   () -> ()               called once before the first event; may be absent
//
// A guest imports from the module wharf1 what it needs of the host calls below,
// and from wasi_snapshot_preview1 what its language's runtime needs. The host
// answers the second in its own way: no files, no arguments, no network. A guest
// of any language gets randomness from random_get and the time from
// clock_time_get; a recording and the kit give values of their own. A module with
// any other import or signature is refused at load. Every parameter and
// result of the ABI is an i32, read as unsigned unless it is called a status, a
// verdict or a result.
//
// # Events
//
// An event is wharf_event(kind, handle, arg, len). Its payload is len bytes
// that stay in the host; they last until the guest returns. A parameter that
// the table does not name is 0.
//
//	 kind        handle   arg              payload
//	 1 DESCRIBE                                             answer: report(MANIFEST)
//	 2 OPEN                                settings         begin to connect; answer: report(UP), then or later
//	 3 MESSAGE   offset   exchange         facts, message   send this; the message starts at offset
//	 4 CANCEL             exchange                          its caller has left
//	 5 OPENED    handle   flags            sealed, or none  it is connected; for HTTP, nothing says so before HEAD;
//	                                                        flags: 1 SEALED
//	 6 HEAD      handle   status, flags    head, body       an HTTP response; flags: 1<<16 LAST
//	 7 DATA      handle   flags            bytes            flags: 1 LAST
//	 8 END       handle                                     nothing more will be read from it
//	 9 ERROR     handle   status           text             it failed; handle 0: something of the connection did
//	10 EXIT      handle   exit code        last words       the process is gone; -1 where a signal ended it
//	11 TIMER     id                                         the timer fired
//	12 RESUME                              blob             what an earlier instance passed to save
//	13 CLOSE                                                the connection is wanted no more
//
// DESCRIBE is the first event of every instance, and often the only one. A
// connection begins with OPEN; RESUME follows it at once if something is saved.
// CLOSE is not the last event: a guest may still send what ends its session,
// and says report(ENDED) when it needs nothing more. The host waits two seconds
// for that.
//
// LAST on an event stands in place of an END event. A handle gets one of the
// two, once, and nothing but EXIT after it. EXIT is an event of its own, because
// the pipes of a process can outlast it, held by a grandchild, or close before
// it ends. The payload of EXIT is the end of what the process wrote to its
// stderr, or nothing. A guest sees no more of the stderr than that: a program
// that carries the connection, such as ssh, says there why it failed.
//
// The result of an event is 0, or below zero a status: the guest cannot go on,
// and the connection ends with that status. MESSAGE has three results:
//
//	 1  HANDED OVER   the message is on its way and nothing will be said of it
//	 0  LATER         report(DONE) or report(FAILED) will end its exchange
//	<0  a status      as above
//
// An answer ends the exchange of its request as well, wherever it is delivered. A
// guest that learns later whether a message arrived returns LATER. If the message
// did not arrive, it reports FAILED. If it arrived, the answer ends the exchange;
// for a message that has no answer, the guest reports DONE.
//
// A guest returns 0 from kinds that it does not know.
//
// # Sealed payloads
//
// A server entry can have an auth provider sign in to a byte stream. The bytes that
// the provider gives come to the guest as the payload of OPENED, with the flag
// SEALED, and stay sealed: a guest knows how many they are, decides where in the
// stream they stand, and never sees one of them.
//
//	take, deliver   DENIED, whatever the range
//	scan            -1: nothing is found in it
//	forward         queues it, whole or in parts, to the handle of the event; to
//	                any other that is open: DENIED
//
// Every other call works as always, because it does not read the payload. A guest
// can forward the bytes in this event only: those that it has not forwarded when it
// returns are gone, and if it has forwarded none, the host warns its user. What is
// queued to a handle leaves in the order of the calls. So a guest whose stream must
// begin with these bytes queues nothing and does not report UP before OPENED. A
// stream that is opened again gets what the provider gives at that time. No trace
// shows more than the length. A guest that does not know the flag ignores it, and
// the payload with it.
//
// # Exchanges
//
// Every outgoing message has a number, its exchange. Whatever comes back for the
// message has the same number: the stream that was opened for it, the reply that
// was read from that stream, the end of both. Numbers are never used twice on a
// connection. 0 is the shared channel. Where one stream carries everything, it is
// the only one; on other transports it has what belongs to no message.
//
// # Host calls
//
// An off counts from the start of the current event's payload, a ptr is an
// address in guest memory. What forward and deliver are given must lie within
// the payload; take and scan stop at its end.
//
//	take        (off, ptr, len) -> n
//	            copies payload into memory: len bytes or as many as there are
//	            from off on; n is how many.
//	scan        (off, needles) -> index, or -1
//	            finds the first byte at or after off that is one of up to four
//	            needles. They are packed into one integer, the first in its lowest
//	            byte, the last one repeated. The index counts from the start of
//	            the payload.
//	deliver     (exchange, off, len, flags) -> verdict
//	            the next bytes of an inbound message, taken from the payload.
//	            Without END there is more to come, in this event or a later one;
//	            every exchange collects for itself. ABORT drops what was collected.
//	deliver_mem (exchange, ptr, len, flags) -> verdict
//	            the same, taken from memory.
//	forward     (handle, off, len, flags) -> status
//	            queues payload for a handle; END closes its writing side
//	            afterwards. An HTTP request is sent at END.
//	write       (handle, ptr, len, flags) -> status
//	            the same, taken from memory.
//	open        (kind, exchange, ptr, len) -> handle, or a status below zero
//	            opens what a grant stands for. The bytes are an open request; kind
//	            must be the kind of the grant. The handle belongs to the exchange,
//	            and is closed when that one is cancelled and the guest has seen
//	            CANCEL; with exchange 0 it belongs to the connection. OPENED or
//	            ERROR follows, HEAD or ERROR for HTTP. A grant may be opened more
//	            than once, but only one process of a grant lives at a time.
//	close       (handle) -> status
//	            closes it. Of the bytes that are queued, those leave first that the
//	            other side takes at once. No event comes for it any more. A handle
//	            keeps its place until then, even after END, ERROR and EXIT.
//	timer       (id, ms) -> status
//	            arms, or arms anew, the timer of that id; 0 disarms it. A timer
//	            fires once, and never for an arming that has been replaced.
//	report      (what, exchange, code, ptr, len) -> status
//	            tells the host what has happened. The bytes are a text for people,
//	            or the manifest.
//	save        (ptr, len) -> status
//	            keeps a small blob for the instance after this one, in place of
//	            the one before: a session id, the id of the last event. The status
//	            of a blob over the limit below is TOO_LARGE.
//	log         (level, ptr, len)
//	            one line for the trace. Not for secrets, and not for every message.
//
// forward and write take all that they are given. While too much is queued, or
// nearly all handles are open, the host holds MESSAGE events back, so a guest
// need not count. A guest that queues without end is trapped.
//
// The flags of deliver, deliver_mem, forward and write are 1 END and 2 ABORT,
// the second for deliver and deliver_mem alone. The kinds of open are 1
// process, 2 stream, 3 http. The levels of log are 0 debug, 1 info, 2 warn, 3
// error. These can be reported; the status of any other is UNAVAILABLE:
//
//	1 MANIFEST   bytes: the manifest; in answer to DESCRIBE
//	2 UP         messages may be sent from now on
//	3 DONE       the exchange is over and nothing went wrong
//	4 FAILED     the exchange is over, or with 0 the connection; code: a status, bytes: why
//	5 EXPIRED    the server has forgotten the session; exchange: whose answer said so
//	6 ENDED      nothing more will come after CLOSE
//
// # Verdicts
//
// The host parses what is delivered, and the verdict says what it found. So a
// guest needs no JSON: ANSWER on the stream of an exchange means that it may be
// left to drain.
//
//	  0 PENDING     the message is not complete
//	  1 ANSWER      a response, and a caller has it now
//	  2 NOTE        a notification
//	  3 REQUEST     a request of the server
//	  4 BLANK       nothing but white space
//	-32 MALFORMED   not one well-formed JSON-RPC message
//	-33 WRONG_ID    a response with an id that is not the exchange's
//	-34 LATE        a response that no caller waits for any more
//	-35 TOO_BIG     longer than the settings' cap; its bytes were not kept
//
// A message with a verdict below zero has been dropped, and the host takes care of
// the caller that waited for it. Only the guest knows whether its stream can go on.
// Until END the verdict is PENDING, for a message over the cap as well. Its bytes
// over the cap are dropped as they come, and the verdict at its end is TOO_BIG.
//
// # Statuses
//
//	 0 OK             -5 CLOSED         -10 PROTOCOL
//	-1 DENIED         -6 NOT_FOUND      -11 TOO_LARGE
//	-2 UNAVAILABLE    -7 UNREACHABLE    -12 STALLED
//	-3 MALFORMED      -8 TIMED_OUT      -13 INTERNAL
//	-4 LIMIT          -9 RESET         -14 REFUSED
//	                                   -15 UNAUTHORIZED
//
// A guest that fails chooses the status by what its user can do about it; the text
// that it reports says the rest. For a connection that does not come up:
//
//	MALFORMED      the entry is wrong: a setting, an argument. The host does not try
//	               again until the entry has changed.
//	UNAUTHORIZED   one side does not accept who the other is: a sign-in refused, a
//	               host key that is not the known one. A person has to act, and the
//	               host does not try again by itself; a call that comes a good while
//	               later may try whether the person has done so.
//	any other      the server cannot be reached now. The host tries again, after
//	               longer and longer waits.
//
// For one exchange only REFUSED matters: the other side said no before it did
// anything with the message, so the message may be sent again. With any other the
// server may have acted on it.
//
// Where the host itself knows why a handle failed, because the event was ERROR or
// EXIT, its own words are shown before the guest's. A guest treats a status that it
// does not know like INTERNAL.
//
// # Blocks
//
// Structured payloads and arguments are blocks. A block is a length and fields;
// a field is a tag, a length and that many bytes. Integers are little endian.
//
//	block   ┌────────────┬───────┬───────┬───
//	        │ length u32 │ field │ field │ …      the length does not count itself
//	        └────────────┴───────┴───────┴───
//	field   ┌─────────┬────────────┬───────┐
//	        │ tag u16 │ length u32 │ value │      the length counts the value alone
//	        └─────────┴────────────┴───────┘
//
// A value is one of four. A text is UTF-8. An integer is a u32. A pair is a u32 with
// the length of its key, the key, and the value of the pair, which is the rest. A
// grant is a u32 with the kind of open, and its name, which is the rest.
//
//	facts          settings           manifest            open request   head
//	1 kind     u32 1 server      text 1 name         text 1 grant   text 1 header pair…
//	2 id      text 2 setting    pair… 2 version      text 2 flags    u32
//	3 method  text 3 grant     grant… 3 summary      text 3 method  text
//	4 name    text 4 message cap  u32 4 setting     pair… 4 target  text
//	5 version text                    5 grant      grant… 5 header pair…
//	6 epoch    u32                    6 cancel        u32
//	7 header pair…                    7 probe         u32
//	                                  8 unsolicited   u32
//
// Tags marked with … may stand any number of times, and their order counts; the
// others stand at most once. An absent field means an empty text or 0, and an
// encoder leaves those out. Fields may come in any order, encoders write them in
// the order of their tags. Unknown tags are skipped. Everything else is
// malformed: a block or field that is cut short, a field that stands twice, an
// integer that does not have four bytes, a text, key, value or name that is not
// UTF-8. What follows a block (the message after the facts, the body after the
// head) is not a part of it.
//
// The kind in facts is 1 request, 2 notification, 3 reply. The flags of an open
// request are 1 ESSENTIAL (its end is the end of the connection) and 2 UPGRADE
// (after a 101 the handle is a byte stream). In a manifest, cancel is 1 message
// or 2 stream, probe is 0 none, 1 stdio, 2 http, and any unsolicited but 0
// means that messages come which belong to no exchange.
//
// The facts of the third call on a connection, a tools/call with id 3:
//
//	facts {"kind":1,"id":"3","method":"tools/call","name":"echo","epoch":1}
//	35 00 00 00                                             53 bytes follow
//	01 00  04 00 00 00  01 00 00 00                         kind: request
//	02 00  01 00 00 00  33                                  id: the token 3
//	03 00  0a 00 00 00  74 6f 6f 6c 73 2f 63 61 6c 6c       method: tools/call
//	04 00  04 00 00 00  65 63 68 6f                         name: echo
//	06 00  04 00 00 00  01 00 00 00                         epoch: 1
//
// The settings of a server that is a process:
//
//	settings {"server":"files","grants":[{"kind":1,"name":"main"}],"messageCap":16777216}
//	23 00 00 00                                             35 bytes follow
//	01 00  05 00 00 00  66 69 6c 65 73                      server: files
//	03 00  08 00 00 00  01 00 00 00 6d 61 69 6e             grant: process, main
//	04 00  04 00 00 00  00 00 00 01                         message cap: 16 MiB
//
// A request of the HTTP transport, to the very address that was granted:
//
//	open {"grant":"main","method":"POST","headers":[{"key":"accept","value":"text/event-stream"}]}
//	35 00 00 00                                             53 bytes follow
//	01 00  04 00 00 00  6d 61 69 6e                         grant: main
//	03 00  04 00 00 00  50 4f 53 54                         method: POST
//	05 00  1b 00 00 00  06 00 00 00 61 63 63 65 70 74       header: accept,
//	   74 65 78 74 2f 65 76 65 6e 74 2d 73 74 72 65 61 6d     text/event-stream
//
// # Rules
//
//   - A pointer outside memory, a window outside the payload and bytes that do
//     not decode are lies: the instance traps, its connection ends, and nothing
//     else is harmed. Whatever a truthful guest can run into (a refusal, a
//     failure, a handle that has closed in the meantime) is a status.
//   - The host never calls a guest from within a host call, and never two events
//     at a time.
//   - A handle is an index from 1, plus a generation in the bits 8 to 30. A
//     handle that is not open is CLOSED.
//   - Grants are names: what the command, url or address of a server entry leads
//     to is called main. A guest never sees a command line, a host or a path, and
//     never a credential: those are added where the host performs the exchange.
//   - Every event has a budget of instructions, every host call a price. A guest
//     that overruns it is trapped. A connection has a budget as well; see below.
//
// # Limits
//
//	handles              128      timers              32
//	chunk             64 KiB      timer, shortest  10 ms
//	saved state       16 KiB      unread chunks        2 (per handle; then the
//	last words         4 KiB                              host stops reading)
//
// # Budgets
//
// Computing is counted in units. An instruction is one unit or a few, a load from
// memory 16; a host call has a price of 100 to 20,000 (open), and moving a byte
// costs one more. These are the figures of this host. Another may give more.
//
//	memory                           256 pages of 64 KiB
//	_initialize                      100,000,000 units
//	an event                          10,000,000 units, and for its payload
//	  each byte of the first 16 KiB          512 units more
//	  each byte after those                   64 units more
//	a connection                      40,000,000 units a second, and what events earn
//
// A guest that goes past the budget of an event is trapped. One that goes past
// that of its connection is ended: it may use 40 million units at once, and regains
// as many each second. The server may be busy and the guest thrifty, so events earn
// units for the connection: 200,000 each, and of the units that their payload adds,
// as many as the event used. Who caused an event decides whether it earns:
//
//   - DATA and HEAD do: their bytes came from outside.
//   - A MESSAGE that a caller of the host begins does, and so does CANCEL.
//   - A MESSAGE that was asked for by what the guest delivered earns as much as bytes
//     from outside have paid for: a reply to a request, the next page of a list, a
//     further round of a call. Each byte of DATA and HEAD pays 25,000 units in, and
//     the message draws on them. For a request that the guest made up, nothing was
//     paid in.
//   - No other event does. A guest brings them about by itself: timers, handles that
//     open, end or fail, opens that are refused.
//
// The rule is the same in both directions. A guest that carries the requests of
// others to a server behind the host gets them in DATA, and the replies to them are
// messages that were asked for.
//
// # Versions
//
// This is version 1, and it stays as it is. A later host may know more events,
// flags, tags, statuses, reports and host calls, and never replaces one of these.
// The text above says what a guest does with those that it does not know, so a
// guest of today runs on a later host unchanged. A guest that imports a host call
// which its host does not have is refused, by the name of that call. A change with
// which guests of today could not run would be a version 2, beside this one.
package abi
