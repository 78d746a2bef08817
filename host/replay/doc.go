// Package record keeps what passes between guests and their host, and runs it
// again. A guest is a state machine: given the same events, the same answers to its
// host calls, the same clock and the same randomness, it does the same. So a file
// with those is enough to run a session again without a server, and to see where
// another build of the plugin does something else.
//
// # The file
//
// A recording is text, one JSON object per line. The member kind says what a line
// is about; members that are empty or zero are left out, and readers ignore what
// they do not know.
//
//	start       format ("wharf-record/1"), time
//	connection  connection (a number), server, plugin, sha256 (of its file), abi,
//	            time; clock and random: what the guest took while it was started
//	event       connection, n (from 1, for each connection), at_us (since the
//	            connection began), event, handle, arg, the payload, clock, random,
//	            calls, result, or trap: why it did not return, and lied: it was
//	            stopped in a host call, which is not among the calls
//	cut         connection, why: nothing more of it is in the file; without a
//	            connection, of none
//	ended       connection, why: the guest is gone
//	end         the last line; without it the program was killed, or still writes
//
// An event is one line, written when the guest has returned. Lines of connections
// stand between each other, those of one in order. Its calls are objects: call (the
// name in the ABI), args (as the guest passed them, 0 for a pointer), the bytes
// that one points to, and result. The request of an open is a block, encoded anew.
//
// Bytes are the member text, if they are UTF-8, and otherwise base64. Without either
// there are none, and size says how many were not written down: those of a sealed
// payload, and where hidden is true, those that a secret may have gone into. An OPEN
// repeats its settings and grants for people.
//
// clock are the readings, in nanoseconds since 1970, in order; they are those of one
// clock that nobody sets. random are the bytes that the guest took, in order, in
// base64.
//
// # Secrets
//
// Credentials never reach a transport. What else is secret is overwritten with as
// many asterisks, and masked is true beside it; line breaks stay. So every offset
// and length is what it was, and a guest that looks for the ends of lines and
// messages finds them where they were. That goes for the values that the host names
// (variables, headers, what a sign-in gave), for members of JSON and headers that
// are called like secrets, and for what identifies a session, both ways. The values of
// the configuration are found in other encodings too: package secret says in which.
//
// Where a guest makes other bytes of what was hidden (a WebSocket mask, a
// compression), they would tell it again: from then on, what it writes from its own
// memory is not kept but for its length, unless it stands in the event as well.
//
// In a comparison an asterisk of something masked is like any other byte.
//
// # Bounds
//
// The message path pays for a copy, and never waits. Since a state machine cannot be
// run past an event that is missing, a connection for which there is no room ends
// with a cut: when 64 MiB wait to be written, when an event has more than 32 MiB,
// or when the file has 256 MiB.
package replay
