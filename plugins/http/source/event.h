// An event, and the bytes of its payload, which stay with the host: a window is a part
// of them, to be looked at, searched and delivered.
#ifndef EVENT_H
#define EVENT_H

#define WHARF_NO_MARKER // which http.c has
#include "wharf.h"

// What the host says of an event. handle is 0 where the event is about none.
typedef struct {
	uint32_t kind, handle, arg, len;
} event;

// A part of the payload of the current event.
typedef struct {
	uint32_t from, to;
} window;

static inline uint32_t width(window p) { return p.to - p.from; }

static inline window payload(const event *e) { return (window){0, e->len}; }

// is_last reports whether nothing more comes for the handle of e.
static inline bool is_last(const event *e) {
	return e->kind == WHARF_END || (e->kind == WHARF_DATA && (e->arg & WHARF_LAST) != 0) ||
		(e->kind == WHARF_HEAD && (e->arg & WHARF_HEAD_LAST) != 0);
}

// scan_end returns where the first end of a line is in p, or p.to.
static inline uint32_t scan_end(window p) {
	int32_t at = wharf_scan(p.from, wharf_needles('\r', '\n', '\n', '\n'));
	return at < 0 || (uint32_t)at >= p.to ? p.to : (uint32_t)at;
}

// look copies the beginning of p, at most so much of it, and returns how many bytes
// that were.
static inline uint32_t look(window p, uint8_t *into, uint32_t most) {
	uint32_t len = width(p) < most ? width(p) : most;
	if (len == 0) return 0;
	int32_t n = wharf_take(p.from, into, len);
	return n < 0 ? 0 : (uint32_t)n;
}

static inline int32_t deliver(uint32_t exchange, window p, uint32_t flags) {
	return wharf_deliver(exchange, p.from, width(p), flags);
}

#endif
