// Texts: views of bytes that another part of the program owns, valid as long as those
// bytes.
#ifndef TEXT_H
#define TEXT_H

#include "event.h"

typedef struct {
	const uint8_t *bytes;
	uint32_t len;
} text;

// TEXT makes a text of a constant, whose length the compiler knows.
#define TEXT(constant) ((text){(const uint8_t *)(constant), sizeof(constant) - 1})

bool same(text a, text b);

// cut takes the part of *rest before the first c from it, and c with it; all of it
// where there is no c.
text cut(text *rest, uint8_t c);

// lower makes an ASCII letter small.
uint8_t lower(uint8_t c);

// put_bytes adds t to b at once.
void put_bytes(wharf_block *b, text t);

void put_decimal(wharf_block *b, uint32_t n);

// A character that stands at the beginning of some bytes: its number, and how many
// bytes it has. Where those are no UTF-8, the number is NO_CHARACTER and the size 1.
typedef struct {
	uint32_t number, size;
} character;

enum { NO_CHARACTER = 0xFFFD };

// first_of reads a character; t must not be empty.
character first_of(text t);

// is_utf8 reports whether t is UTF-8 throughout.
bool is_utf8(text t);

#endif
