// JSON as strictly as a program's output is read: what encoding/json would refuse, this
// refuses.
#ifndef STRICT_H
#define STRICT_H

#include "credential.h"

enum { MAX_NESTED = 10000 };

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

static inline bool strict_digits(cursor *c) {
	const char *from = c->at;
	while (is_digit(peek(c))) c->at++;
	return c->at > from;
}

static inline bool strict_number(cursor *c) {
	if (peek(c) == '-') c->at++;
	if (peek(c) == '0') c->at++;
	else if (!strict_digits(c)) return false;
	if (peek(c) == '.' && (c->at++, !strict_digits(c))) return false;
	if ((peek(c) | 32) != 'e') return true;
	c->at++;
	if (peek(c) == '+' || peek(c) == '-') c->at++;
	return strict_digits(c);
}

static inline bool strict_text(cursor *c) {
	for (c->at++; c->at < c->end; c->at++) {
		if (*c->at == '"') return c->at++, true;
		if ((unsigned char)*c->at < ' ') return false;
		if (*c->at != '\\') continue;
		c->at++;
		bool known = false;
		for (const char *e = "\"\\/bfnrtu"; *e; e++) known = known || *e == peek(c);
		if (!known) return false;
		for (int left = *c->at == 'u' ? 4 : 0; left > 0; left--) {
			c->at++;
			char x = peek(c);
			if (!is_digit(x) && !((x | 32) >= 'a' && (x | 32) <= 'f')) return false;
		}
	}
	return false;
}

static inline bool strict_word(cursor *c) {
	static const char *const words[] = {"true", "false", "null"};
	for (uint32_t i = 0; i < 3; i++) {
		cursor at = *c;
		const char *w = words[i];
		while (*w && peek(&at) == *w) w++, at.at++;
		if (!*w) return *c = at, true;
	}
	return false;
}

// strict_key moves past the key of a member, and its colon.
static inline bool strict_key(cursor *c) {
	if (peek_past_space(c) != '"' || !strict_text(c) || peek_past_space(c) != ':') return false;
	return c->at++, true;
}

static inline bool strict_scalar(cursor *c) {
	char first = peek(c);
	if (first == '"') return strict_text(c);
	return first == '-' || is_digit(first) ? strict_number(c) : strict_word(c);
}

// strict_value moves past a value. Where it is none, c stays about where it is not.
static inline bool strict_value(cursor *c) {
	static char opened[MAX_NESTED];
	uint32_t depth = 0;
	for (;;) {
		char first = peek_past_space(c);
		if (first == '{' || first == '[') {
			if (depth == MAX_NESTED) return false;
			opened[depth++] = first;
			c->at++;
			bool empty = peek_past_space(c) == (first == '{' ? '}' : ']');
			if (!empty && first == '{' && !strict_key(c)) return false;
			if (!empty) continue;
		} else if (!strict_scalar(c)) {
			return false;
		}
		for (bool next = false; !next;) {
			if (!depth) return true;
			char open = opened[depth - 1], sign = peek_past_space(c);
			if (sign != ',' && sign != (open == '{' ? '}' : ']')) return false;
			c->at++;
			next = sign == ',';
			if (next && open == '{' && !strict_key(c)) return false;
			if (!next) depth--;
		}
	}
}

#endif
