// What the host is told of the connection and of exchanges, and the sentences for
// people in it.
#ifndef REPORT_H
#define REPORT_H

#include "text.h"

void report_up(void);
void report_ended(void);
void report_done(uint32_t exchange);
void report_expired(uint32_t exchange);
void report_failed(uint32_t exchange, int32_t status, text why);

// WORDS is how many bytes of what the other side, or the host, has said go into a
// sentence.
enum { WORDS = 1 << 10 };

// sentence returns an empty block with room for WORDS and what is said around them.
// There is one, so it lasts until the next.
wharf_block sentence(void);

// put_status writes the name of a status.
void put_status(wharf_block *b, int32_t status);

#endif
