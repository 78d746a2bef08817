#include "stream.h"
#include "memory.h"
#include "reply.h"
#include "report.h"
#include "request.h"
#include "session.h"

// How long to wait before a stream is resumed, in milliseconds: what the server said, or
// FIRST_WAIT, twice as long each time nothing has come of it.
enum { FIRST_WAIT = 1000, LONGEST_WAIT = 30000, SHORTEST_WAIT = 100 };

static bool ticking; // DRAIN_TIMER is armed

// occurred looks at what an event was, and reports whether the stream goes on.
static bool occurred(call *c) {
	c->tries = 0;
	switch (c->events.event.verdict) {
	case WHARF_WRONG_ID:
		reply_done(c);
		return false;
	case WHARF_ANSWER:
	case WHARF_LATE:
		c->answered = true;
	}
	return true;
}

// parted is for a stream that has ended by itself.
static void parted(call *c) {
	if (!c->answered && stream_is_resumable(c)) {
		stream_pause(c);
	} else {
		reply_done(c);
	}
}

void stream(call *c, window p, bool last) {
	uint32_t size = width(p);
	while (p.from < p.to) {
		p.from = reader_next(&c->events, p);
		if (c->events.event.over && !occurred(c)) return;
	}
	if (last) {
		parted(c);
	} else if (c->events.event.size > reply_cap) {
		wharf_deliver_mem(c->exchange, 0, 0, WHARF_FIN); // the host looks for whom it was
		reply_fail(c, WHARF_TOO_LARGE, TEXT("an event of the stream is longer than a message may be"));
	} else if (c->answered) {
		stream_drain(c, size);
	}
}

static bool tick_later(void) { return wharf_timer(DRAIN_TIMER, DRAIN_TICK) == WHARF_OK; }

void stream_drain(call *c, uint32_t size) {
	c->size += size;
	if (c->size > DRAIN_SIZE) {
		reply_done(c);
		return;
	}
	if (c->drained || !c->answered) return;
	if (!ticking) ticking = tick_later();
	calls_drain(c);
	if (drained.len > DRAIN_STREAMS) reply_done(drained.first);
}

void stream_tick(void) {
	while (drained.first && drained.first->aged) reply_done(drained.first);
	for (call *c = drained.first; c; c = c->next) c->aged = true;
	ticking = drained.first && tick_later();
}

bool stream_is_resumable(const call *c) {
	return reader_id(&c->events).len > 0 && c->member && session_lives(c->epoch) && c->tries < MAX_TRIES;
}

uint32_t stream_patience(uint32_t retry, uint32_t tries) {
	uint32_t wait = retry == 0 ? FIRST_WAIT : retry;
	if (wait < SHORTEST_WAIT) wait = SHORTEST_WAIT;
	uint32_t longer = wait << (tries < 8 ? tries : 8);
	if (longer > LONGEST_WAIT) longer = LONGEST_WAIT;
	return longer > wait ? longer : wait;
}

void stream_pause(call *c) {
	wharf_close(c->handle);
	reader_restart(&c->events);
	c->wait = stream_patience(c->events.retry, c->tries);
	c->tries++;
	calls_rest(c);
	calls_rearm();
}

// It is a GET whatever the stream came from, and it belongs to the exchange of the call.
// Where it fails the server may have done what was asked all the same, so that is not to
// be sent again.
void stream_resume(call *c) {
	if (!session_lives(c->epoch)) {
		reply_fail(c, WHARF_RESET, TEXT("the session ended before the server answered"));
		return;
	}
	int32_t handle = request_bare(c->exchange, TEXT("GET"), reader_id(&c->events));
	if (handle < 0) {
		reply_unopened(c, handle);
		return;
	}
	calls_wake(c);
	calls_hold(c, (uint32_t)handle);
	c->resumed = true;
}

// A server in trouble is asked again.
void stream_continued(call *c, uint32_t status, bool is_events) {
	if (status == 200 && is_events) {
		c->form = EVENTS;
	} else if (status >= 500 && c->tries < MAX_TRIES) {
		stream_pause(c);
	} else {
		reply_done(c);
	}
}
