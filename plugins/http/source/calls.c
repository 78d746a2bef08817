#include "calls.h"
#include "memory.h"

enum {
	HANDLES = 1 << 8, // as many as an index of a handle can tell apart
	INDEX = HANDLES - 1,
};

static call *open[HANDLES]; // by the index of their handle

static queue resting; // paused ones, which have no handle
static queue unused;
queue drained;

static void append(queue *q, call *c) {
	c->next = 0;
	if (q->len++ == 0) {
		q->first = c;
	} else {
		q->last->next = c;
	}
	q->last = c;
}

// take_out takes c out of q, in which it is.
static void take_out(queue *q, call *c) {
	call *before = 0;
	for (call *other = q->first; other != c; other = other->next) before = other;
	if (before) {
		before->next = c->next;
	} else {
		q->first = c->next;
	}
	if (q->last == c) q->last = before;
	q->len--;
}

// What belongs to a call for as long as the connection lasts, whatever it is used for.
// The call stands first, so that what it lies in is where it is.
typedef struct {
	call call;
	memo memo;
	uint8_t body[REFUSAL_BODY];
} call_slot;

call *calls_new(uint32_t exchange) {
	call_slot *b = (call_slot *)unused.first;
	if (b) {
		take_out(&unused, &b->call);
	} else if (!(b = more(sizeof *b))) {
		return 0;
	}
	b->call = (call){.exchange = exchange, .events = {.exchange = exchange, .memo = &b->memo}, .refusal = {.body = b->body}};
	return &b->call;
}

void calls_hold(call *c, uint32_t h) {
	c->handle = h;
	open[h & INDEX] = c;
}

call *calls_at(uint32_t handle) {
	call *c = open[handle & INDEX];
	return c && c->handle == handle ? c : 0;
}

call *calls_of(uint32_t exchange) {
	for (uint32_t i = 0; i < HANDLES; i++) {
		if (open[i] && open[i]->exchange == exchange) return open[i];
	}
	for (call *c = resting.first; c; c = c->next) {
		if (c->exchange == exchange) return c;
	}
	return 0;
}

void calls_end(call *c) {
	if (c->form == PAUSED) {
		take_out(&resting, c);
	} else if (c->handle != 0) {
		open[c->handle & INDEX] = 0;
	}
	if (c->drained) take_out(&drained, c);
	c->form = OVER, c->handle = 0;
	append(&unused, c);
}

void calls_drain(call *c) {
	c->drained = true;
	append(&drained, c);
}

void calls_rest(call *c) {
	open[c->handle & INDEX] = 0;
	c->form = PAUSED, c->handle = 0;
	append(&resting, c);
}

void calls_wake(call *c) {
	take_out(&resting, c);
	c->form = UNKNOWN, c->armed = false;
}

void calls_rearm(void) {
	for (call *c = resting.first; c; c = c->next) {
		if (c->armed) continue;
		c->armed = wharf_timer(c->exchange, c->wait) == WHARF_OK;
		if (!c->armed) return;
	}
}
