// The end of a call, and what a response says of itself: what the answer, the stream and
// the listener have in common.
#ifndef REPLY_H
#define REPLY_H

#include "calls.h"

// reply_cap is how many bytes a message may have. A longer one is dropped, and answers no
// call.
extern uint64_t reply_cap;

// reply_done ends a call that succeeded as far as the plugin can tell. The host knows
// whether it was answered.
void reply_done(call *c);

// reply_fail ends a call with a reason.
void reply_fail(call *c, int32_t status, text why);

// reply_unopened ends a call for which the host refused to open an exchange, with the
// status that the host gave.
void reply_unopened(call *c, int32_t status);

// A media type without its parameters, in lower case.
typedef struct {
	text name;
	bool json, events;
} media;

// media_type returns the media type of the response whose head is the current block.
media media_type(void);

#endif
