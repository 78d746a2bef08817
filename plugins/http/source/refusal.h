// A response that says no, for people: its status and the beginning of its body.
#ifndef REFUSAL_H
#define REFUSAL_H

#include "text.h"

enum { REFUSAL_BODY = 200 }; // bytes of the body that are kept

typedef struct {
	uint32_t status;
	uint32_t len;  // of what is kept
	uint8_t *body; // REFUSAL_BODY bytes, owned by the caller
} refusal;

// refusal_add keeps what is needed of the next bytes of the body and reports whether
// more of them would make no difference.
bool refusal_add(refusal *r, window p);

// refusal_put writes one line: the status and, of the body, what can be printed.
void refusal_put(wharf_block *b, const refusal *r);

#endif
