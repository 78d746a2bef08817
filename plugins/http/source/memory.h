// Memory beyond what the module begins with. It grows with the longest block and the
// most calls there ever were at one time, and up to what the module declares; what was
// given is never taken back, so its owner reuses it.
#ifndef MEMORY_H
#define MEMORY_H

#include "text.h"

// more returns so many bytes, all 0, or no address where there is no more memory.
void *more(uint32_t size);

// reserve makes room for so many bytes in b, and keeps what it has. It returns false,
// and changes nothing, where there is no more memory.
bool reserve(wharf_block *b, uint32_t room);

// keep makes b a copy of t, or empty and returns false where there is no more memory.
bool keep(wharf_block *b, text t);

// kept returns what b has.
text kept(const wharf_block *b);

#endif
