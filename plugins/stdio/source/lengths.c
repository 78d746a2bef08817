// Messages behind a header block like that of the Language Server Protocol: fields, a
// blank line, then as many bytes as Content-Length says. Names are compared without
// case, other fields are ignored, and a lone newline ends a line too.
//
// A server that miscounts, or leaves out the blank line, loses what it sent wrong and
// at most the message after it: the log says so, and the next Content-Length is looked
// for, in the middle of a line too, since a body has no line end of its own.
#include "framing.h"

enum {
	HEADER_CAP = 8 << 10, // of a header block; one short field is all a server needs

	// The largest message cap that a host can be set to. A length beyond it is a
	// mistake, not a message to wait for.
	LENGTH_CAP = 1 << 30,
};

static const char name[] = "content-length:";
enum { NAME = sizeof name - 1 };

static uint32_t left;    // bytes of the current body that are still to come
static uint8_t last;     // the last byte of it that came and is not white space; 0 for none
static uint8_t line[64]; // the current line; what does not fit is of no interest
static uint32_t filled;  // bytes of line
static bool named;       // the line has its colon
static bool lost;        // only a Content-Length ends the search for one
static bool warned;      // the log has the reason

// What the header block before the body said so far.
static struct {
	uint32_t size; // in bytes
	uint32_t fields;
	bool counted; // length is set
	uint32_t length;
} block;

static uint8_t lower(uint8_t c) { return c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c; }

// is_token reports whether c may stand in the name of a field (RFC 9110, 5.6.2).
static bool is_token(uint8_t c) {
	c = lower(c);
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= '#' && c <= '\'') || (c >= '^' && c <= '`') ||
		c == '-' || c == '!' || c == '*' || c == '+' || c == '.' || c == '|' || c == '~';
}

static void put_decimal(wharf_block *b, uint32_t n) {
	if (n >= 10) put_decimal(b, n / 10);
	wharf_put(b, (uint8_t)('0' + n % 10));
}

// send writes a header and the message, which leave together.
static int32_t send(uint32_t handle, window message) {
	uint8_t bytes[48];
	wharf_block out = {bytes, sizeof bytes, 0};
	wharf_put_text(&out, "Content-Length: ");
	put_decimal(&out, message.to - message.from);
	wharf_put_text(&out, "\r\n\r\n");
	int32_t status = wharf_write(handle, bytes, out.len, WHARF_MORE);
	return status < 0 ? status : wharf_forward(handle, message.from, message.to - message.from, WHARF_MORE);
}

static void put_escape(wharf_block *b, const char *how, uint8_t c) {
	static const char hex[] = "0123456789abcdef";
	wharf_put_text(b, how);
	wharf_put(b, (uint8_t)hex[c >> 4]);
	wharf_put(b, (uint8_t)hex[c & 15]);
}

// put_quoted writes a byte as the character of that number, in quotes, so that a
// person can read it whatever it is.
static void put_quoted(wharf_block *b, uint8_t c) {
	static const char letters[] = "abtnvfr"; // from 7 on
	wharf_put(b, '\'');
	if (c >= 7 && c <= 13) {
		wharf_put(b, '\\');
		wharf_put(b, (uint8_t)letters[c - 7]);
	} else if (c < ' ' || c == 0x7f) {
		put_escape(b, "\\x", c);
	} else if ((c > 0x7f && c <= 0xa0) || c == 0xad) {
		put_escape(b, "\\u00", c);
	} else if (c > 0x7f) {
		wharf_put(b, (uint8_t)(0xc0 | c >> 6));
		wharf_put(b, (uint8_t)(0x80 | (c & 0x3f)));
	} else {
		if (c == '\'' || c == '\\') wharf_put(b, '\\');
		wharf_put(b, c);
	}
	wharf_put(b, '\'');
}

// lose gives up on the current block, for a reason that may name a byte. The first
// reason is logged; more of them before a message is found again would only repeat it.
static void lose_at(const char *reason, uint8_t c, const char *more) {
	lost = true, named = false, filled = 0;
	block.size = block.fields = 0, block.counted = false;
	if (warned) return;
	warned = true;
	uint8_t bytes[256];
	wharf_block text = {bytes, sizeof bytes, 0};
	wharf_put_text(&text, "content-length framing: ");
	wharf_put_text(&text, reason);
	if (*more) put_quoted(&text, c);
	wharf_put_text(&text, more);
	wharf_put_text(&text, "; looking for the next Content-Length");
	wharf_log(WHARF_WARN, bytes, text.len);
}

static void lose(const char *reason) { lose_at(reason, 0, ""); }

// read_length reads decimal digits with white space around them.
static bool read_length(const uint8_t *from, const uint8_t *to, uint32_t *length) {
	while (from < to && is_space(*from)) from++;
	while (from < to && is_space(to[-1])) to--;
	if (from == to) return false;
	uint64_t n = 0;
	for (; from < to; from++) {
		if (*from < '0' || *from > '9' || (n = n * 10 + *from - '0') > LENGTH_CAP) return false;
	}
	*length = (uint32_t)n;
	return true;
}

static bool is_length(void) {
	for (uint32_t i = 0; i < NAME; i++) {
		if (i >= filled || lower(line[i]) != (uint8_t)name[i]) return false;
	}
	return true;
}

// field reads a Content-Length, which may stand twice if it says the same.
static void field(void) {
	uint32_t n = 0;
	if (!is_length()) return;
	if (!read_length(line + NAME, line + filled, &n)) {
		lose("a Content-Length is no number up to 1 GiB");
	} else if (block.counted && n != block.length) {
		lose("a header block has two different Content-Lengths");
	} else {
		block.counted = true, block.length = n;
	}
}

// end_block begins the body. Blank lines between a body and the next header block
// mean nothing.
static void end_block(void) {
	bool counted = block.counted, fields = block.fields > 0;
	block.size = block.fields = 0, block.counted = false;
	if (counted) {
		left = block.length;
	} else if (fields) {
		lose("a header block has no Content-Length");
	}
}

// end_line understands a line, and at a blank one turns to the body.
static void end_line(void) {
	bool blank = filled == 0 || (filled == 1 && line[0] == '\r');
	if (blank) {
		end_block();
	} else if (!named) {
		lose("a header line has no colon");
	} else {
		block.fields++;
		field();
	}
	filled = 0;
	named = false;
}

static void keep(uint8_t c) {
	if (filled < sizeof line) line[filled++] = c;
}

// seek waits for the name of the one field that matters.
static void seek(uint8_t c) {
	if (lower(c) != (uint8_t)name[filled]) filled = 0;
	if (lower(c) == (uint8_t)name[filled]) keep(c);
	if (filled == NAME) lost = false, named = true;
}

// step takes one byte of a header block.
static void step(uint8_t c) {
	if (lost) {
		seek(c);
		return;
	}
	if (++block.size > HEADER_CAP) {
		lose("a header block is longer than 8 KiB");
	} else if (c == '\n') {
		end_line();
	} else if (c == ':' && !named) {
		named = true;
		keep(c);
	} else if (!named && !is_token(c) && c != '\r') {
		lose_at("expected a header field or a blank line, got ", c,
			"; a server that sends one message a line needs framing = \"ndjson\"");
	} else {
		keep(c);
	}
}

// body delivers what p has of the current body and returns where the rest begins.
static uint32_t body(window p) {
	uint32_t n = p.to - p.from < left ? p.to - p.from : left;
	p.to = p.from + n;
	left -= n;
	if (left > 0) {
		deliver(p, WHARF_MORE);
		last = final(p, last);
		return p.to;
	}
	last = 0;
	if (deliver(p, WHARF_FIN) == WHARF_NO_MESSAGE) {
		lose("a message is malformed, or not as long as its Content-Length says");
	} else {
		warned = false;
	}
	return p.to;
}

// header looks at header bytes and returns what follows those it understood.
static uint32_t header(window p) {
	if (lost && filled == 0) {
		p.from = scan(p, 'C', 'c');
		if (p.from == p.to) return p.to;
	}
	uint8_t bytes[128];
	uint32_t n = look(p, bytes, sizeof bytes);
	for (uint32_t i = 0; i < n; i++) {
		step(bytes[i]);
		if (left > 0) return p.from + i + 1;
	}
	return p.from + n;
}

// data delivers the bodies in p.
static void data(window p) {
	while (p.from < p.to) p.from = left > 0 ? body(p) : header(p);
}

// end delivers a body that is shorter than its Content-Length said; if the length was
// wrong, it may be whole all the same, which it is not unless it ends as a message does.
static void end(void) {
	if (left > 0 && closes(last)) wharf_deliver_mem(SHARED, 0, 0, WHARF_FIN);
	left = 0, last = 0;
}

const framing lengths = {send, data, end};
