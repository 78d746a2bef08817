// As much JSON as a provider needs. Reading takes no memory but for texts: a
// value stays where it is, as a piece of the input. What is missing, of another
// kind or malformed is a piece without bytes, which every function takes, so
// nothing is checked twice.
#ifndef JSON_H
#define JSON_H

#include "extism.h"

typedef struct { const char *at; uint32_t size; } piece;

static const piece nothing = {0, 0};

enum { MAX_DEPTH = 64, MAX_TEXTS = 640 << 10 };

static char texts[MAX_TEXTS]; // of one call
static uint32_t texts_size;

#define IS(p, literal) same(p, literal, sizeof(literal) - 1)

static inline bool same(piece p, const char *text, uint32_t size) {
	if (p.size != size) return false;
	for (uint32_t i = 0; i < size; i++)
		if (p.at[i] != text[i]) return false;
	return true;
}

static inline bool equal(piece a, piece b) { return same(a, b.at, b.size); }

// A cursor stands at a byte of a piece; at its end it reads 0.
typedef struct { const char *at, *end; } cursor;

static inline char peek(const cursor *c) { return c->at < c->end ? *c->at : 0; }

static inline char peek_past_space(cursor *c) {
	while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\r' || *c->at == '\n')) c->at++;
	return peek(c);
}

// skip_text moves past a text in quotes.
static inline bool skip_text(cursor *c) {
	for (c->at++; c->at < c->end; c->at++) {
		if (*c->at == '"') return c->at++, true;
		if ((unsigned char)*c->at < ' ') return false;
		if (*c->at == '\\') c->at++;
	}
	return false;
}

static inline bool is_scalar(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 'E' || c == '+' || c == '-' || c == '.'; }

// skip moves past a value. It does not check a number or a word: the caller that
// reads one does.
static inline bool skip(cursor *c, int depth) {
	char open = peek_past_space(c);
	if (open == '"') return skip_text(c);
	if (open != '{' && open != '[') {
		const char *from = c->at;
		while (is_scalar(peek(c))) c->at++;
		return c->at > from;
	}
	char close = open == '{' ? '}' : ']';
	c->at++;
	if (depth == MAX_DEPTH) return false;
	if (peek_past_space(c) == close) return c->at++, true;
	for (;;) {
		if (open == '{') {
			if (peek_past_space(c) != '"' || !skip_text(c) || peek_past_space(c) != ':') return false;
			c->at++;
		}
		if (!skip(c, depth + 1)) return false;
		char next = peek_past_space(c);
		c->at++;
		if (next == close) return true;
		if (next != ',') return false;
	}
}

// whole returns the value that text holds and nothing beside it.
static inline piece whole(piece text) {
	cursor c = {text.at, text.at + text.size};
	peek_past_space(&c);
	const char *from = c.at;
	if (!skip(&c, 0)) return nothing;
	piece value = {from, (uint32_t)(c.at - from)};
	peek_past_space(&c);
	return c.at == c.end ? value : nothing;
}

// member returns the value of a key of an object that is well formed.
#define member(object, key) member_of(object, "\"" key "\"", sizeof(key) + 1)

static inline piece member_of(piece object, const char *key, uint32_t size) {
	cursor c = {object.at, object.at + object.size};
	if (peek(&c) != '{') return nothing;
	for (c.at++; peek_past_space(&c) == '"'; c.at++) {
		piece name = {c.at, 0};
		skip_text(&c);
		name.size = (uint32_t)(c.at - name.at);
		peek_past_space(&c);
		c.at++; // the colon
		peek_past_space(&c);
		piece value = {c.at, 0};
		skip(&c, 0);
		value.size = (uint32_t)(c.at - value.at);
		if (same(name, key, size)) return value;
		if (peek_past_space(&c) != ',') break;
	}
	return nothing;
}

// number returns a whole number from 0 to 15 digits, or -1 for anything else.
static inline int64_t number(piece p) {
	int64_t n = 0;
	if (p.size == 0 || p.size > 15) return -1;
	for (uint32_t i = 0; i < p.size; i++) {
		if (p.at[i] < '0' || p.at[i] > '9') return -1;
		n = n * 10 + (p.at[i] - '0');
	}
	return n;
}

static inline void text_byte(uint32_t c) {
	if (texts_size < MAX_TEXTS) texts[texts_size] = (char)c;
	texts_size++;
}

static inline void text_rune(uint32_t r) {
	if (r < 0x80) { text_byte(r); return; }
	if (r < 0x800) { text_byte(0xC0 | r >> 6); }
	else if (r < 0x10000) { text_byte(0xE0 | r >> 12); text_byte(0x80 | (r >> 6 & 0x3F)); }
	else { text_byte(0xF0 | r >> 18); text_byte(0x80 | (r >> 12 & 0x3F)); text_byte(0x80 | (r >> 6 & 0x3F)); }
	text_byte(0x80 | (r & 0x3F));
}

// hex4 reads four hexadecimal digits. It returns 0xFFFD, the replacement character,
// where they are not.
static inline uint32_t hex4(cursor *c) {
	uint32_t r = 0;
	for (int i = 0; i < 4; i++) {
		char d = peek(c);
		if (d >= '0' && d <= '9') r = r << 4 | (uint32_t)(d - '0');
		else if ((d | 32) >= 'a' && (d | 32) <= 'f') r = r << 4 | (uint32_t)((d | 32) - 'a' + 10);
		else return 0xFFFD;
		c->at++;
	}
	return r;
}

static inline uint32_t escaped_rune(cursor *c) {
	uint32_t r = hex4(c);
	if (r < 0xD800 || r > 0xDFFF) return r;
	if (r > 0xDBFF || c->end - c->at < 6 || c->at[0] != '\\' || c->at[1] != 'u') return 0xFFFD;
	cursor next = {c->at + 2, c->end};
	uint32_t low = hex4(&next);
	if (low < 0xDC00 || low > 0xDFFF) return 0xFFFD; // and what follows is another character
	c->at = next.at;
	return 0x10000 + ((r - 0xD800) << 10) + (low - 0xDC00);
}

static inline void text_escape(cursor *c) {
	char e = peek(c);
	c->at++;
	switch (e) {
	case 'b': text_byte('\b'); return;
	case 'f': text_byte('\f'); return;
	case 'n': text_byte('\n'); return;
	case 'r': text_byte('\r'); return;
	case 't': text_byte('\t'); return;
	case 'u': text_rune(escaped_rune(c)); return;
	}
	text_byte((unsigned char)e);
}

// text returns the bytes of a text in quotes. They are kept until the call ends.
static inline piece text(piece p) {
	if (p.size < 2 || p.at[0] != '"') return nothing;
	uint32_t from = texts_size;
	cursor c = {p.at + 1, p.at + p.size - 1};
	while (c.at < c.end) {
		char b = *c.at++;
		if (b == '\\') text_escape(&c);
		else text_byte((unsigned char)b);
	}
	if (texts_size > MAX_TEXTS) return texts_size = from, nothing;
	return (piece){texts + from, texts_size - from};
}

// Writing appends to the output. What does not fit is counted and not written,
// and the call is broken in the end.

static inline void put(char c) {
	if (output_size < MAX_REPLY) output.bytes[output_size] = c;
	output_size++;
}

static inline void put_piece(piece p) {
	for (uint32_t i = 0; i < p.size; i++) put(p.at[i]);
}

// put_base64 writes bytes as the contract has them: a text in base64, with padding.
static inline void put_base64(piece p) {
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	put('"');
	for (uint32_t i = 0; i < p.size; i += 3) {
		uint32_t bits = 0, left = p.size - i;
		for (uint32_t j = 0; j < 3; j++) bits = bits << 8 | (j < left ? (uint8_t)p.at[i + j] : 0);
		for (uint32_t j = 0; j < 4; j++) put(j <= left ? digits[bits >> (18 - 6 * j) & 63] : '=');
	}
	put('"');
}

#define PUT(literal) put_piece((piece){literal, sizeof(literal) - 1})

static inline void put_number(int64_t n) {
	if (n >= 10) put_number(n / 10);
	put((char)('0' + n % 10));
}

static const char hex[] = "0123456789ABCDEF";

// put_text_part writes what stands between the quotes of a text.
static inline void put_text_part(piece p) {
	for (uint32_t i = 0; i < p.size; i++) {
		unsigned char c = (unsigned char)p.at[i];
		if (c == '"' || c == '\\') put('\\');
		if (c < ' ' || c == 0x7F) { PUT("\\u00"); put(hex[c >> 4]); put(hex[c & 15]); }
		else put((char)c);
	}
}

static inline void put_text(piece p) { put('"'); put_text_part(p); put('"'); }

// put_form writes a value of a form (application/x-www-form-urlencoded). It is
// safe within a text.
static inline void put_form(piece p) {
	for (uint32_t i = 0; i < p.size; i++) {
		unsigned char c = (unsigned char)p.at[i];
		char lower = (char)(c | 32);
		if ((lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_') put((char)c);
		else { put('%'); put(hex[c >> 4]); put(hex[c & 15]); }
	}
}

#endif
