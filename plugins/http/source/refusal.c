#include "refusal.h"

// Characters that show nothing, or move what stands beside them: controls, spaces of
// all kinds, formats, and those of private use. What lies between two that no standard
// has given a meaning is counted with them.
static const struct {
	uint32_t from, to;
} hidden[] = {
	{0x00, 0x20}, {0x7F, 0xA0}, {0xAD, 0xAD}, {0x600, 0x605}, {0x61C, 0x61C}, {0x6DD, 0x6DD}, {0x70F, 0x70F},
	{0x890, 0x891}, {0x8E2, 0x8E2}, {0x1680, 0x1680}, {0x180E, 0x180E}, {0x2000, 0x200F}, {0x2028, 0x202F},
	{0x205F, 0x206F}, {0x3000, 0x3000}, {0xE000, 0xF8FF}, {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFB}, {0xFFFD, 0xFFFD},
	{0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
	{0xE0000, 0xE007F}, {0xF0000, 0x10FFFF},
};

static bool is_hidden(uint32_t number) {
	for (uint32_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
		if (number <= hidden[i].to) return number >= hidden[i].from;
	}
	return false;
}

static bool is_gap(uint32_t number) { return number == ' ' || number == '\n' || number == '\r' || number == '\t'; }

bool refusal_add(refusal *r, window p) {
	r->len += look(p, r->body + r->len, REFUSAL_BODY - r->len);
	return r->len == REFUSAL_BODY;
}

void refusal_put(wharf_block *b, const refusal *r) {
	wharf_put_text(b, "HTTP ");
	put_decimal(b, r->status);
	const char *gap = ": ";
	for (text rest = {r->body, r->len}; rest.len > 0;) {
		character c = first_of(rest);
		if (is_gap(c.number)) {
			if (*gap == 0) gap = " ";
		} else if (!is_hidden(c.number)) {
			wharf_put_text(b, gap);
			put_bytes(b, (text){rest.bytes, c.size});
			gap = "";
		}
		rest = (text){rest.bytes + c.size, rest.len - c.size};
	}
	if (r->len == REFUSAL_BODY) wharf_put_text(b, "…");
}
