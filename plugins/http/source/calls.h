// The calls: messages on their way, of whatever kind, and the responses to them.
#ifndef CALLS_H
#define CALLS_H

#include "reader.h"
#include "refusal.h"

// What a response turned out to be.
typedef enum {
	UNKNOWN, // no head has come yet
	JSON,    // one message
	EVENTS,
	TEXT,   // of an error: only for people
	EMPTY,  // nothing is expected in it
	PAUSED, // it broke off, and is to be resumed
	OVER,   // the call is forgotten
} form;

typedef struct call {
	struct call *next; // in the list that it is in: a call is in one at most
	uint32_t exchange, epoch;
	uint32_t handle; // 0 while it rests
	bool waits;      // it is a request: the caller waits for an answer
	bool opens;      // it is an initialize
	bool member;     // it belongs to a session
	bool named;      // and was sent with the id of that
	bool resumed;    // the response is to a GET that goes on with an earlier one

	form form;
	uint64_t size;  // bytes of a body in JSON, or of what followed the answer
	bool answered;  // what still comes counts for nothing
	bool drained;   // it is read all the same, within bounds
	bool aged;      // and has been for a tick
	uint32_t tries; // resumptions since the last event
	uint32_t wait;  // before the next one
	bool armed;     // the timer of the next one runs

	reader events;
	refusal refusal;
} call;

// A queue of calls, the oldest first.
typedef struct {
	call *first, *last;
	uint32_t len;
} queue;

// Answered calls that are drained; they are open too.
extern queue drained;

// calls_new returns a call of that exchange, which is in no list, or 0 where there is
// no memory for one more.
call *calls_new(uint32_t exchange);

// calls_hold makes h the handle of c.
void calls_hold(call *c, uint32_t h);

// calls_at returns the call with that handle, or 0.
call *calls_at(uint32_t handle);

// calls_of returns the call of an exchange, or 0. It looks at all of them, which a
// cancellation and a resumption can afford.
call *calls_of(uint32_t exchange);

// calls_end forgets c, which is used again for another. What it says of itself can be
// read until then.
void calls_end(call *c);

// calls_drain puts c among those that are drained.
void calls_drain(call *c);

// calls_rest parts c from its handle until calls_wake.
void calls_rest(call *c);
void calls_wake(call *c);

// calls_rearm sets the timers of resting calls that have none. More streams can break
// off at once than there are timers; the others wait for one, and so longer than they
// were asked to.
void calls_rearm(void);

#endif
