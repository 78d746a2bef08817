#include "text.h"

// word returns eight bytes at once, since what a load costs is paid for each.
static uint64_t word(const uint8_t *at) {
	uint64_t w;
	__builtin_memcpy(&w, at, sizeof w);
	return w;
}

bool same(text a, text b) {
	if (a.len != b.len) return false;
	uint32_t i = 0;
	for (; a.len - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
		if (word(a.bytes + i) != word(b.bytes + i)) return false;
	}
	for (; i < a.len; i++) {
		if (a.bytes[i] != b.bytes[i]) return false;
	}
	return true;
}

text cut(text *rest, uint8_t c) {
	text before = *rest;
	for (uint32_t i = 0; i < before.len; i++) {
		if (before.bytes[i] != c) continue;
		*rest = (text){before.bytes + i + 1, before.len - i - 1};
		before.len = i;
		return before;
	}
	*rest = (text){before.bytes + before.len, 0};
	return before;
}

uint8_t lower(uint8_t c) { return c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c; }

void put_bytes(wharf_block *b, text t) {
	uint32_t room = b->room - b->len, n = t.len < room ? t.len : room;
	__builtin_memcpy(b->bytes + b->len, t.bytes, n);
	b->len += n;
}

void put_decimal(wharf_block *b, uint32_t n) {
	if (n >= 10) put_decimal(b, n / 10);
	wharf_put(b, (uint8_t)('0' + n % 10));
}

// The sizes of characters in UTF-8: how the first byte of one begins, what it may
// be next to that, and the smallest number that needs so many bytes.
static const struct {
	uint8_t mask, mark;
	uint32_t least;
} sizes[] = {{0x80, 0x00, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};

enum { SIZES = sizeof sizes / sizeof *sizes };

// is_character reports whether a number is that of a character: halves of a pair of
// UTF-16 are none.
static bool is_character(uint32_t number) { return number <= 0x10FFFF && (number < 0xD800 || number > 0xDFFF); }

character first_of(text t) {
	static const character none = {NO_CHARACTER, 1};
	uint32_t more = 0;
	while (more < SIZES && (t.bytes[0] & sizes[more].mask) != sizes[more].mark) more++;
	if (more == SIZES || more >= t.len) return none;
	uint32_t number = t.bytes[0] & (uint8_t)~sizes[more].mask;
	for (uint32_t i = 1; i <= more; i++) {
		if ((t.bytes[i] & 0xC0) != 0x80) return none;
		number = number << 6 | (t.bytes[i] & 0x3F);
	}
	if (number < sizes[more].least || !is_character(number)) return none;
	return (character){number, more + 1};
}

bool is_utf8(text t) {
	for (uint32_t at = 0; at < t.len;) {
		character c = first_of((text){t.bytes + at, t.len - at});
		if (c.number == NO_CHARACTER && c.size == 1) return false;
		at += c.size;
	}
	return true;
}
