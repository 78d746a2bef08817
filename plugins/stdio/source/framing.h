// How messages are put into the two streams of a process, and found in the one that
// it writes: one JSON text a line, or a header with Content-Length before each. Bytes
// of messages stay with the host. How the stream was cut into chunks makes no
// difference to what is delivered.
#ifndef FRAMING_H
#define FRAMING_H

#define WHARF_NO_MARKER // which stdio.c has
#include "wharf.h"

// Messages that came by the one stream belong to the shared exchange.
enum { SHARED = 0 };

// A part of the payload of the current event.
typedef struct {
	uint32_t from, to;
} window;

// A framing. An instance of the module serves one connection, so each has its state
// to itself.
typedef struct {
	// send queues the message to a handle. A status below zero says that it is closed.
	int32_t (*send)(uint32_t handle, window message);

	// data delivers what is complete with p, and streams what is not.
	void (*data)(window p);

	// end says that the stream ended by itself: what came last is complete, if it
	// ends as a message does. Else the server was lost in the middle of it.
	void (*end)(void);
} framing;

extern const framing lines, lengths, either;

// scan returns where the first of two bytes is in p, or p.to.
static inline uint32_t scan(window p, char a, char b) {
	int32_t at = wharf_scan(p.from, wharf_needles(a, b, b, b));
	return at < 0 || (uint32_t)at >= p.to ? p.to : (uint32_t)at;
}

// look copies the beginning of p and returns how many bytes that were.
static inline uint32_t look(window p, uint8_t *into, uint32_t most) {
	uint32_t len = p.to - p.from < most ? p.to - p.from : most;
	if (len == 0) return 0;
	int32_t n = wharf_take(p.from, into, len);
	return n < 0 ? 0 : (uint32_t)n;
}

static inline int32_t deliver(window p, uint32_t flags) {
	return wharf_deliver(SHARED, p.from, p.to - p.from, flags);
}

static inline bool is_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// final returns the last byte up to the end of p that is no white space; before is
// what it was up to the beginning of p.
static inline uint8_t final(window p, uint8_t before) {
	uint8_t bytes[64];
	while (p.from < p.to) {
		uint32_t n = p.to - p.from < sizeof bytes ? p.to - p.from : sizeof bytes;
		p.to -= n;
		for (n = look((window){p.to, p.to + n}, bytes, n); n-- > 0;) {
			if (!is_space(bytes[n])) return bytes[n];
		}
	}
	return before;
}

// closes reports whether a message may end with c: each is an object or an array.
static inline bool closes(uint8_t c) { return c == '}' || c == ']'; }

#endif
