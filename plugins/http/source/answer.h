// The response to a call, from its head to its end.
#ifndef ANSWER_H
#define ANSWER_H

#include "calls.h"

// answer_cap is how many bytes a message may have: what is longer is nobody's answer.
extern uint64_t answer_cap;

// answer takes one event of the response to c. Below zero it is the status of the event.
int32_t answer(call *c, const event *e);

// answer_done ends a call with which nothing went wrong. The host knows whether it was
// answered.
void answer_done(call *c);

// answer_fail ends a call with a reason.
void answer_fail(call *c, int32_t status, text why);

// answer_unopened ends a call for which the host opened nothing, and said with which
// status.
void answer_unopened(call *c, int32_t status);

// A media type without its parameters, in small letters.
typedef struct {
	text name;
	bool json, events;
} media;

// media_type returns that of the body behind the current block, which is a head.
media media_type(void);

#endif
