// The block that an event begins with: facts, settings or a head. There is one at a
// time, copied out of the payload, and what is returned of it lasts until the next.
#ifndef BLOCK_H
#define BLOCK_H

#include "memory.h"

// Tags of facts, settings and heads.
enum { FACT_KIND = 1, FACT_METHOD = 3, FACT_VERSION = 5, FACT_EPOCH = 6, FACT_HEADER = 7 };
enum { SETTING_CAP = 4 };
enum { HEAD_HEADER = 1 };

// The kinds of a message in facts, of which only this one is waited for.
enum { FACT_REQUEST = 1 };

// Each of these takes a block and finds its fields. Below zero it is the status of the
// event: the connection has failed, and why is reported.
int32_t block_settings(uint32_t len);
int32_t block_facts(void);

// block_head also returns the first bytes of the body.
int32_t block_head(const event *e, window *body);

// block_take takes the beginning of an event, for block_facts. It returns false where
// there is no memory for it.
bool block_take(uint32_t len);

// block_bytes copies the whole payload, which need not be a block.
text block_bytes(uint32_t len);

// block_text returns the value of a tag, empty where there is none; block_u32 an
// integer, or 0.
text block_text(uint32_t tag);
uint32_t block_u32(uint32_t tag);

// block_pair returns the value of the first pair of a tag that has that key, empty
// where there is none.
text block_pair(uint32_t tag, text key);

// block_next goes through the fields of a tag, headers of fields included: *at is 0
// before the first. It returns an empty text behind the last.
text block_next(uint32_t tag, uint32_t *at);

// FIELD is how many bytes of a field stand before its value.
enum { FIELD = 6 };

#endif
