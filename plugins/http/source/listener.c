#include "listener.h"
#include "block.h"
#include "reply.h"
#include "report.h"
#include "request.h"
#include "session.h"
#include "stream.h"

enum { HOLD_TIME = 250 }; // how long a message is held for the listener, in milliseconds

static memo ids;

static struct {
	enum {
		DEAF,    // the session has not begun to listen
		WAITING, // for events, or for the next attempt
		OFF,     // the server has no such stream
	} state;
	uint32_t handle;
	uint32_t tries; // openings since the last event
	uint32_t held;  // the exchange that is done as soon as the server answers, or 0
	reader events;
} listener = {.events = {.memo = &ids}};

static bool left; // the connection is to end

bool listener_is_deaf(void) { return listener.state == DEAF; }

bool listener_is(uint32_t handle) { return listener.handle == handle; }

bool listener_holds(uint32_t exchange) { return listener.held == exchange; }

void listener_leave(void) { left = true; }

void listener_resume(text id) { reader_set_id(&listener.events, id); }

void listener_open(void) {
	listener.state = OFF;
	int32_t handle = request_bare(0, TEXT("GET"), reader_id(&listener.events));
	if (handle < 0) return;
	listener.state = WAITING, listener.handle = (uint32_t)handle;
}

void listener_begin(void) {
	if (listener.state == DEAF) listener_open();
}

void listener_first(call *c) {
	wharf_close(c->handle);
	calls_end(c);
	listener_open();
	if (listener.state == WAITING && wharf_timer(HOLD_TIMER, HOLD_TIME) == WHARF_OK) {
		listener.held = c->exchange;
	} else {
		report_done(c->exchange);
	}
}

void listener_release(void) {
	uint32_t exchange = listener.held;
	if (exchange == 0) return;
	listener.held = 0;
	wharf_timer(HOLD_TIMER, 0);
	report_done(exchange);
}

static void hang_up(int next) {
	if (listener.handle != 0) wharf_close(listener.handle);
	listener.handle = 0, listener.state = next;
}

void listener_stop(void) {
	listener_release();
	if (listener.handle != 0) {
		reader_restart(&listener.events);
		hang_up(DEAF);
	} else if (listener.state == WAITING) {
		wharf_timer(LISTENER_TIMER, 0);
	}
	listener.state = DEAF, listener.tries = 0;
	listener.events = (reader){.memo = &ids};
}

// listen_later opens the listener again after a while.
static void listen_later(void) {
	hang_up(WAITING);
	reader_restart(&listener.events);
	if (left) return;
	uint32_t wait = stream_patience(listener.events.retry, listener.tries);
	if (wharf_timer(LISTENER_TIMER, wait) != WHARF_OK) listener.state = OFF;
	listener.tries++;
}

// hears reports whether the response is a stream. Any refusal but that of a server in
// trouble means that it has no stream; one may be for the id of an event which the server
// does not remember.
static bool hears(uint32_t status, bool is_events) {
	if (status == 200 && is_events) return true;
	if (status >= 500) {
		listen_later();
	} else if (status >= 400 && reader_id(&listener.events).len > 0) {
		reader_set_id(&listener.events, TEXT(""));
		listen_later();
	} else {
		hang_up(OFF);
	}
	return false;
}

// hear takes bytes of the stream.
static void hear(window p, bool last) {
	reader *events = &listener.events;
	while (p.from < p.to) {
		p.from = reader_next(events, p);
		if (!events->event.over) break;
		listener.tries = 0;
		if (events->event.has_id) session_save(reader_id(events));
	}
	if (events->event.size > reply_cap) {
		text warning = TEXT("listener: an event is longer than a message may be");
		wharf_log(WHARF_WARN, warning.bytes, warning.len);
		last = true;
	}
	if (last) listen_later();
}

static int32_t head(const event *e) {
	window body;
	int32_t status = block_head(e, &body);
	if (status < 0) return status;
	if (hears(e->arg & 0xFFFF, media_type().events)) hear(body, is_last(e));
	return 0;
}

int32_t listener_take(const event *e) {
	listener_release();
	switch (e->kind) {
	case WHARF_HEAD:
		return head(e);
	case WHARF_ERROR:
		if ((int32_t)e->arg == WHARF_DENIED) {
			hang_up(OFF);
		} else {
			listen_later();
		}
		break;
	default:
		hear(payload(e), is_last(e));
	}
	return 0;
}
