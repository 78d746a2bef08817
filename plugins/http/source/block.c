// What a block says is believed to be what the host has written: its form is checked,
// since everything here rests on that, and texts are passed on as they are.
#include "block.h"
#include "report.h"

enum {
	LENGTH = 4, // bytes of the length that a block begins with
	TAGS = 8,   // those that are known are below

	// How much is taken of an event to see how long its block is. Most are shorter.
	FIRST_LOOK = 256,
};

static wharf_block block;

static uint32_t fields[TAGS]; // where the first field of a tag begins in the block, or 0

// fail ends the connection for a malformed block.
static int32_t fail(const char *name, uint32_t at, const char *reason) {
	wharf_block said = sentence();
	wharf_put_text(&said, name);
	wharf_put_text(&said, " at byte ");
	put_decimal(&said, at);
	wharf_put_text(&said, ": ");
	wharf_put_text(&said, reason);
	report_failed(0, WHARF_MALFORMED, kept(&said));
	return WHARF_MALFORMED;
}

static int32_t too_long(void) {
	report_failed(0, WHARF_TOO_LARGE, TEXT("an event begins with a block that this plugin has no memory for"));
	return WHARF_TOO_LARGE;
}

bool block_take(uint32_t len) {
	block.len = 0;
	if (!reserve(&block, len)) return false;
	block.len = look((window){0, len}, block.bytes, len);
	return true;
}

// u32 reads an integer at once, since what a load costs is paid for each; in Wasm, too,
// the lowest byte comes first.
static uint32_t u32(const uint8_t *at) {
	uint32_t n;
	__builtin_memcpy(&n, at, sizeof n);
	return n;
}

// The tag and the size of the field that begins at an offset.
static uint32_t tag_at(uint32_t at) { return u32(block.bytes + at) & 0xFFFF; }
static uint32_t size_at(uint32_t at) { return u32(block.bytes + at + 2); }

// find finds the fields of the block. It knows the tags up to last; often are those, as
// bits, that may stand any number of times.
static int32_t find(const char *name, uint32_t last, uint32_t often) {
	if (block.len < LENGTH || u32(block.bytes) > block.len - LENGTH) return fail(name, 0, "the block is cut short");
	block.len = u32(block.bytes) + LENGTH;
	for (uint32_t tag = 0; tag < TAGS; tag++) fields[tag] = 0;
	uint32_t at = LENGTH;
	while (block.len - at >= FIELD) {
		uint32_t tag = tag_at(at), size = size_at(at);
		if (size > block.len - at - FIELD) return fail(name, at, "a field is longer than its block");
		if (tag > 0 && tag <= last) {
			if (fields[tag] == 0) {
				fields[tag] = at;
			} else if ((often >> tag & 1) == 0) {
				return fail(name, at + FIELD, "a field stands twice");
			}
		}
		at += FIELD + size;
	}
	return at == block.len ? 0 : fail(name, at, "a field header is cut short");
}

int32_t block_facts(void) { return find("facts", FACT_HEADER, 1 << FACT_HEADER); }

int32_t block_settings(uint32_t len) {
	enum { VALUE = 2, GRANT = 3 };
	if (!block_take(len)) return too_long();
	return find("settings", SETTING_CAP, 1 << VALUE | 1 << GRANT);
}

int32_t block_head(const event *e, window *body) {
	if (!block_take(e->len < FIRST_LOOK ? e->len : FIRST_LOOK)) return too_long();
	uint64_t size = block.len < LENGTH ? UINT64_MAX : (uint64_t)u32(block.bytes) + LENGTH;
	if (size > e->len) {
		report_failed(0, WHARF_MALFORMED, TEXT("a block is longer than its event"));
		return WHARF_MALFORMED;
	}
	if (size > block.len && !block_take((uint32_t)size)) return too_long();
	*body = (window){(uint32_t)size, e->len};
	return find("head", HEAD_HEADER, 1 << HEAD_HEADER);
}

text block_bytes(uint32_t len) {
	block_take(len);
	return kept(&block);
}

text block_text(uint32_t tag) {
	uint32_t at = fields[tag];
	return at == 0 ? (text){0, 0} : (text){block.bytes + at + FIELD, size_at(at)};
}

uint32_t block_u32(uint32_t tag) {
	text value = block_text(tag);
	return value.len == 4 ? u32(value.bytes) : 0;
}

text block_next(uint32_t tag, uint32_t *at) {
	if (*at == 0 && (*at = fields[tag]) == 0) *at = block.len;
	while (*at < block.len) {
		uint32_t from = *at, size = FIELD + size_at(from);
		*at += size;
		if (tag_at(from) == tag) return (text){block.bytes + from, size};
	}
	return (text){0, 0};
}

text block_pair(uint32_t tag, text key) {
	uint32_t at = 0;
	for (text field = block_next(tag, &at); field.len > 0; field = block_next(tag, &at)) {
		text pair = {field.bytes + FIELD, field.len - FIELD};
		if (pair.len < 4 || u32(pair.bytes) > pair.len - 4) continue;
		uint32_t len = u32(pair.bytes);
		if (same((text){pair.bytes + 4, len}, key)) return (text){pair.bytes + 4 + len, pair.len - 4 - len};
	}
	return (text){0, 0};
}
