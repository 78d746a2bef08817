// A call whose response is a stream of events: what becomes of it, how what follows the
// answer is drained, and how a stream that broke off is resumed.
#ifndef STREAM_H
#define STREAM_H

#include "calls.h"

enum {
	// What follows the answer on a stream is read, so that the connection below it can
	// be used again, for between one and two ticks and up to a size; and of so many
	// streams. A server that keeps its streams open loses the oldest.
	DRAIN_TICK = 1000,
	DRAIN_SIZE = 64 << 10,
	DRAIN_STREAMS = 32,

	// A stream that breaks off is resumed so often without an event in between.
	MAX_TRIES = 5,
};

// DRAIN_TIMER is the timer of streams that are answered. A paused call has the timer of
// its exchange.
#define DRAIN_TIMER UINT32_MAX

// stream takes bytes of an event stream.
void stream(call *c, window p, bool last);

// stream_drain lets the rest of a response come, within bounds. A response that may
// still answer is bounded by the patience of its caller.
void stream_drain(call *c, uint32_t size);

// stream_tick ends the streams that were drained for a whole tick before this one.
void stream_tick(void);

// stream_is_resumable reports whether the rest of a stream can be asked for
// (2025-11-25, basic/transports, resumability): a call of the modern era is lost with it.
bool stream_is_resumable(const call *c);

// stream_pause waits before a stream is resumed, and stream_resume asks for its rest.
void stream_pause(call *c);
void stream_resume(call *c);

// stream_continued is for the response to the GET of a resumption.
void stream_continued(call *c, uint32_t status, bool is_events);

// stream_patience returns how many milliseconds to wait when so many attempts came to
// nothing. To wait longer than the server said is allowed, to wait less is not.
uint32_t stream_patience(uint32_t retry, uint32_t tries);

#endif
