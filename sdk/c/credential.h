// credential.h: what the providers in C that Wharf ships have in common. Templates do not
// need it.
#ifndef CREDENTIAL_H
#define CREDENTIAL_H

#include "json.h"

#define PIECE(literal) ((piece){literal, sizeof(literal) - 1})

static inline char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

// like compares without regard to the case of ASCII letters.
static inline bool like(piece a, piece b) {
	if (a.size != b.size) return false;
	for (uint32_t i = 0; i < a.size; i++)
		if (lower(a.at[i]) != lower(b.at[i])) return false;
	return true;
}

static inline piece head(piece p, uint32_t size) { return (piece){p.at, size < p.size ? size : p.size}; }

static inline piece tail(piece p, uint32_t size) { return (piece){p.at + (p.size - size), size}; }

// spaces are those of Unicode.
static const char *const spaces[] = {
	"\t", "\n", "\v", "\f", "\r", " ", "\xC2\x85", "\u00A0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005",
	"\u2006", "\u2007", "\u2008", "\u2009", "\u200A", "\u2028", "\u2029", "\u202F", "\u205F", "\u3000",
};

// space returns the size of the space that p begins with, or ends with; 0 for none.
static inline uint32_t space(piece p, bool ends) {
	for (uint32_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
		uint32_t n = 0;
		while (spaces[i][n]) n++;
		if (n <= p.size && same(ends ? tail(p, n) : head(p, n), spaces[i], n)) return n;
	}
	return 0;
}

static inline piece trimmed_left(piece p) {
	for (uint32_t n; (n = space(p, false));) p = tail(p, p.size - n);
	return p;
}

static inline piece trimmed(piece p) {
	p = trimmed_left(p);
	for (uint32_t n; (n = space(p, true));) p = head(p, p.size - n);
	return p;
}

static inline void begin(void) { PUT("{\"actions\":[{\"kind\":\""); }

static inline void done(void) { PUT("}},{\"kind\":\"done\"}]}"); }

// begin_fail begins the message of a failure; end_fail ends it.
#define begin_fail(class) (begin(), PUT("fail\",\"fail\":{\"class\":\"" class "\",\"message\":\""))

static inline void end_fail(void) { PUT("\"}}]}"); }

#define HINT(literal) PUT("\",\"hint\":\"" literal)

// The headers that no credential sets: see package step.
static const piece reserved[] = {
	PIECE("Accept"), PIECE("Accept-Encoding"), PIECE("Connection"), PIECE("Content-"), PIECE("Cookie"), PIECE("Cookie2"),
	PIECE("DPoP"), PIECE("Expect"), PIECE("Host"), PIECE("HTTP2-Settings"), PIECE("Keep-Alive"), PIECE("Last-Event-ID"),
	PIECE("Mcp-"), PIECE("Proxy-"), PIECE("Sec-WebSocket-"), PIECE("TE"), PIECE("Trailer"), PIECE("Transfer-Encoding"),
	PIECE("Upgrade"), PIECE("User-Agent"),
};

// is_token tells what RFC 9110, section 5.6.2, makes names of.
static inline bool is_token(piece p) {
	static const char signs[] = "!#$%&'*+-.^_`|~";
	for (uint32_t i = 0; i < p.size; i++) {
		char c = p.at[i], letter = lower(c);
		bool is = (letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9');
		for (uint32_t j = 0; j < sizeof signs - 1; j++) is = is || c == signs[j];
		if (!is) return false;
	}
	return p.size > 0;
}

static inline bool has_control(piece p) {
	for (uint32_t i = 0; i < p.size; i++)
		if (((unsigned char)p.at[i] < ' ' && p.at[i] != '\t') || p.at[i] == 0x7F) return true;
	return false;
}

// A fault is what keeps credentials from setting a header, as auth.CheckHeader says it.
typedef struct { piece before, name, after; } fault;

static inline fault name_fault(piece name) {
	if (!is_token(name)) return (fault){.before = PIECE("the name of a header has letters, digits and hyphens")};
	for (uint32_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
		piece r = reserved[i];
		bool begins = r.at[r.size - 1] == '-';
		if (!like(head(name, r.size), r) || (name.size > r.size && !begins)) continue;
		return (fault){PIECE("the header "), r, begins ? PIECE("… is not for credentials to set") : PIECE(" is not for credentials to set")};
	}
	return (fault){.before = nothing};
}

static inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

static inline fault value_fault(piece value) {
	piece is = nothing;
	if (has_control(value)) is = PIECE("the value of a header has a line end or another control character in it");
	else if (!value.size) is = PIECE("the value of a header is empty");
	else if (is_blank(value.at[0]) || is_blank(value.at[value.size - 1])) is = PIECE("the value of a header begins or ends with a space");
	return (fault){.before = is};
}

static inline void put_fault(fault f) {
	put_piece(f.before);
	put_piece(f.name);
	put_piece(f.after);
}

#endif
