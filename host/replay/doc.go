// Package replay records the events and host calls of transport plugins, and runs them again. A
// plugin is a state machine: given the same events, the same results of its host calls, the same
// clock and the same randomness, it behaves the same. With a file of those, a session can run
// again without its server, which shows where another build of the plugin behaves differently.
//
// # The file
//
// A recording is text, one JSON object per line. The member kind says what a line is
// about. Empty and zero members are left out. Readers ignore members that they do not
// know.
//
//	start       format ("wharf-record/1"), time
//	connection  connection (a number), server, plugin, sha256 (of its file), abi,
//	            time; clock and random: what the guest took while it was started
//	event       connection, n (from 1, for each connection), at_us (since the
//	            connection began), event, handle, arg, the payload, clock, random,
//	            calls, result; or trap, which says why the event did not return, and
//	            lied if it was stopped in a host call, which is not among the calls
//	cut         connection, why: the file has nothing more of the connection; without
//	            connection: of any connection
//	ended       connection, why: the guest is gone
//	flow        a sign-in by an auth provider, see below
//	end         the last line; without it the program was killed, or is still writing
//
// An event is one line, written when the guest has returned. Lines of different
// connections are mixed; those of one connection are in order. Each call is an object:
// call (the name in the ABI), args (as the guest passed them, 0 for a pointer), the bytes
// at that pointer, and result. The request of an open is a block, encoded anew.
//
// Bytes are the member text if they are UTF-8, and otherwise base64. If both are missing, size
// says how many bytes were left out. Those are a sealed payload, or, with hidden true, bytes
// that may contain a secret in some other form. An OPEN repeats its settings and grants for
// people.
//
// clock has the readings of a monotonic clock in order, in nanoseconds since 1970. random has
// the bytes that the guest took, in order, in base64.
//
// A flow has everything in one line, which ends with its SHA-256: the provider, and for each
// step the event and the actions that answered it. Each text that may be a secret has a
// stand-in, also where the provider computes with it: see "A sign-in" in docs/PLUGINS.md.
// [Run] steps over flows; the conformance kit runs them (host/plugintest).
//
// # Secrets
//
// Credentials never reach a transport. Other secrets are overwritten with the same number
// of asterisks, and masked is true beside them; line breaks stay. So every offset and
// length is as it was, and a guest that looks for the ends of lines and messages finds
// them in the same places. This covers the values that the host names (variables, headers,
// what a sign-in gave), the members of JSON and the headers that are called secrets, and
// session identifiers, in both directions. Values of the configuration are also found in
// other encodings; package host/internal/redact lists them.
//
// A guest may turn a secret into other bytes (a WebSocket mask, a compression), which
// would reveal it. So once a guest has seen a secret, only the length is kept of what it
// writes from its own memory, unless the same bytes are in the event.
//
// A comparison treats an asterisk of something masked as equal to any byte.
//
// # Bounds
//
// Recording costs the message path a copy, and never blocks it. A state machine cannot be
// replayed past a missing event. So a connection that there is no room for ends with a
// cut: when 64 MiB wait to be written, when an event has more than 32 MiB, or when the
// file has 256 MiB.
package replay
