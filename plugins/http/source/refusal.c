#include "refusal.h"
#include "hidden.h"

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
		} else if (!wharf_hidden(c.number)) {
			wharf_put_text(b, gap);
			put_bytes(b, (text){rest.bytes, c.size});
			gap = "";
		}
		rest = (text){rest.bytes + c.size, rest.len - c.size};
	}
	if (r->len == REFUSAL_BODY) wharf_put_text(b, "…");
}
