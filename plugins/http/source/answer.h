// The response to a call, from its head to its end.
#ifndef ANSWER_H
#define ANSWER_H

#include "calls.h"

// answer takes one event of the response to c. A result below zero is the status of the
// event.
int32_t answer(call *c, const event *e);

#endif
