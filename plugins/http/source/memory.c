#include "memory.h"

extern uint8_t __heap_base; // where the linker's own part of memory ends

enum {
	PAGE = 64 << 10,
	ALIGNMENT = 16,
	FIRST_ROOM = 512, // of a block that is reserved for the first time
};

static uint32_t given; // where free memory begins; 0 means at __heap_base

void *more(uint32_t size) {
	uint64_t from = given == 0 ? (uint32_t)&__heap_base : given;
	from = (from + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	uint64_t end = from + size, have = (uint64_t)__builtin_wasm_memory_size(0) * PAGE;
	if (end > have) {
		uint32_t pages = (uint32_t)((end - have + PAGE - 1) / PAGE);
		if (__builtin_wasm_memory_grow(0, pages) == (uint32_t)-1) return 0;
	}
	given = (uint32_t)end;
	return (void *)(uint32_t)from;
}

bool reserve(wharf_block *b, uint32_t room) {
	if (room <= b->room) return true;
	uint64_t size = b->room == 0 ? FIRST_ROOM : b->room;
	while (size < room) size *= 2;
	uint8_t *bytes = size > UINT32_MAX ? 0 : more((uint32_t)size);
	if (!bytes) return false;
	if (b->len > 0) __builtin_memcpy(bytes, b->bytes, b->len);
	b->bytes = bytes, b->room = (uint32_t)size;
	return true;
}

bool keep(wharf_block *b, text t) {
	b->len = 0;
	if (!reserve(b, t.len)) return false;
	put_bytes(b, t);
	return true;
}

text kept(const wharf_block *b) { return (text){b->bytes, b->len}; }
