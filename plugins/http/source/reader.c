// The reader goes through a stream in three places of a line: data, whose value stays with
// the host; lines that are not data; and the rest of a line that is of no interest.
#include "reader.h"

// How a line begins whose value stays with the host.
#define DATA_FIELD "data:"
enum { DATA_LEN = sizeof DATA_FIELD - 1 };

static const uint8_t mark[3] = {0xEF, 0xBB, 0xBF};

// deliver_part delivers a part of the event's data. Only the first n bytes of p are
// data, the others a line end.
static void deliver_part(reader *r, window p, uint32_t n) {
	r->event.size += n;
	if (r->event.size == 0) return;
	deliver(r->exchange, p, WHARF_MORE);
	r->event.open = true;
}

// finish ends the event with the last of its data.
static void finish(reader *r, window p) {
	occasion *e = &r->event;
	e->size += width(p);
	e->verdict = WHARF_BLANK;
	if (e->size > 0 && !e->other) {
		e->verdict = deliver(r->exchange, p, WHARF_FIN);
	} else if (e->open) {
		deliver(r->exchange, (window){p.from, p.from}, WHARF_ABORT);
	}
	if (e->has_id) {
		__builtin_memcpy(r->memo->id, r->memo->new_id, e->id_len);
		r->id_len = e->id_len;
	}
	e->over = true, e->open = false;
}

static bool is_end(uint8_t c) { return c == '\n' || c == '\r'; }

// end_size returns how many bytes of the n at b, which begin with a line end, are that.
static uint32_t end_size(const uint8_t *b, uint32_t n) { return b[0] == '\r' && n > 1 && b[1] == '\n' ? 2 : 1; }

// data reads the value of a data line, and the end of the event where that follows at
// once. It returns where what is left of p begins.
static uint32_t data(reader *r, window p) {
	uint32_t end = scan_end(p);
	if (end == p.to) {
		deliver_part(r, p, width(p));
		return p.to;
	}
	uint8_t tail[4] = {'\n'};
	uint32_t n = look((window){end, p.to}, tail, sizeof tail);
	uint32_t size = end_size(tail, n);
	bool blank = size < n && is_end(tail[size]);
	if (blank) size += end_size(tail + size, n - size);
	r->cr = tail[size - 1] == '\r';
	r->place = IN_LINE;
	if (blank) {
		finish(r, (window){p.from, end});
	} else {
		deliver_part(r, (window){p.from, end + size}, end - p.from);
	}
	return end + size;
}

// skip returns where p goes on from the end of the line.
static uint32_t skip(reader *r, window p) {
	uint32_t end = scan_end(p);
	if (end == p.to) return p.to;
	uint8_t c = '\n';
	look((window){end, p.to}, &c, 1);
	r->place = IN_LINE, r->cr = c == '\r';
	return end + 1;
}

// line_len returns how many bytes stand before the first line end, all of them where
// it is missing.
static uint32_t line_len(text b) {
	uint32_t n = 0;
	while (n < b.len && b.bytes[n] != '\n' && b.bytes[n] != '\r') n++;
	return n;
}

static text after(text b, uint32_t n) { return (text){b.bytes + n, b.len - n}; }

// value returns what stands behind the name of a field: after the colon, if there is
// one, and after one space, if there is that.
static text value(text b) {
	if (b.len > 0) b = after(b, 1);
	if (b.len > 0 && b.bytes[0] == ' ') b = after(b, 1);
	return b;
}

// begins reports whether b begins with a name.
static bool begins(text b, text name) { return b.len >= name.len && same((text){b.bytes, name.len}, name); }

// is_field reports whether a line is a field of that name.
static bool is_field(text line, text name) {
	return begins(line, name) && (line.len == name.len || line.bytes[name.len] == ':');
}

// is_sendable reports whether an id can stand in a header.
static bool is_sendable(text id) {
	if (id.len > MAX_ID || !is_utf8(id)) return false;
	for (uint32_t i = 0; i < id.len; i++) {
		if (id.bytes[i] < ' ' || id.bytes[i] == 0x7F) return false;
	}
	return true;
}

void reader_set_id(reader *r, text id) {
	r->id_len = is_sendable(id) ? id.len : 0;
	if (r->id_len > 0) __builtin_memcpy(r->memo->id, id.bytes, id.len);
}

// new_id takes an id, unless it could not be sent.
static void new_id(reader *r, text id) {
	if (!is_sendable(id)) return;
	__builtin_memcpy(r->memo->new_id, id.bytes, id.len);
	r->event.id_len = id.len, r->event.has_id = true;
}

// new_retry takes a time of digits alone. None at all is as good as nothing, so the
// shortest is 1.
static void new_retry(reader *r, text time) {
	enum { DAY = 24 * 60 * 60 * 1000 };
	uint32_t ms = 0;
	for (uint32_t i = 0; i < time.len; i++) {
		if (time.bytes[i] < '0' || time.bytes[i] > '9') return;
		ms = ms * 10 + time.bytes[i] - '0';
		if (ms > DAY) ms = DAY;
	}
	if (time.len > 0) r->retry = ms > 0 ? ms : 1;
}

// understand takes a line that is not blank.
static void understand(reader *r, text line) {
	occasion *e = &r->event;
	if (is_field(line, TEXT("event"))) {
		text name = value(after(line, 5));
		e->other = name.len > 0 && !same(name, TEXT("message"));
		e->seen = true;
	} else if (is_field(line, TEXT("id"))) {
		new_id(r, value(after(line, 2)));
		e->seen = true;
	} else if (is_field(line, TEXT("data"))) {
		e->seen = true;
	} else if (is_field(line, TEXT("retry"))) {
		new_retry(r, value(after(line, 5)));
		e->seen = true;
	}
}

// skip_mark returns how much of the stream's first bytes is a byte order mark. Half a
// mark is the beginning of a name, and not one that is known.
static uint32_t skip_mark(reader *r, text w) {
	uint32_t n = 0;
	if (r->begun) return 0;
	for (; n < w.len && r->marked < sizeof mark && w.bytes[n] == mark[r->marked]; n++) r->marked++;
	r->begun = n < w.len || r->marked == sizeof mark;
	if (r->begun && r->marked < sizeof mark) {
		__builtin_memcpy(r->memo->line, mark, r->marked);
		r->line_len = r->marked;
	}
	return n;
}

// skip_ends returns where in w, from i on, something stands that counts: not the second
// half of a line end, and between events no blank line.
static uint32_t skip_ends(reader *r, text w, uint32_t i) {
	if (r->cr && w.bytes[i] == '\n') i++;
	r->cr = false;
	if (r->line_len > 0 || r->event.seen) return i;
	while (i < w.len && (w.bytes[i] == '\n' || w.bytes[i] == '\r')) i++;
	return i;
}

// at_data looks whether b goes on with the value of a data line, and takes from it what
// stands before that value; or, where b ends before, as much as it has collected to
// find that out, which is only needed of a line that was cut.
static bool at_data(reader *r, text *b) {
	uint8_t *line = r->memo->line;
	if (r->line_len == 0) {
		if (b->len <= DATA_LEN || !begins(*b, TEXT(DATA_FIELD))) return false;
		*b = after(*b, b->bytes[DATA_LEN] == ' ' ? DATA_LEN + 1 : DATA_LEN);
		return true;
	}
	uint32_t n = 0;
	for (uint32_t end = line_len(*b); r->line_len <= DATA_LEN && n < end; n++) line[r->line_len++] = b->bytes[n];
	bool data = r->line_len == DATA_LEN + 1 && begins((text){line, r->line_len}, TEXT(DATA_FIELD));
	if (data && line[DATA_LEN] != ' ') n--; // it is a part of the value
	if (data) r->line_len = 0;
	*b = after(*b, n);
	return data;
}

// collect keeps the beginning of a line that is cut. One that is too long for anything
// of interest is understood as far as it goes, and its rest skipped.
static void collect(reader *r, text b) {
	uint32_t room = MAX_LINE - r->line_len, n = b.len < room ? b.len : room;
	__builtin_memcpy(r->memo->line + r->line_len, b.bytes, n);
	r->line_len += n;
	if (r->line_len < MAX_LINE) return;
	understand(r, (text){r->memo->line, r->line_len});
	r->line_len = 0, r->place = IN_REST;
}

// end_line takes the end of a line, most often all of it. A blank line ends the event.
static void end_line(reader *r, window p, text line) {
	if (r->line_len > 0) {
		collect(r, line);
		line = (text){r->memo->line, r->line_len};
	}
	if (line.len > 0) {
		understand(r, line);
		r->line_len = 0;
	} else if (r->place == IN_REST) {
		r->place = IN_LINE;
	} else {
		finish(r, (window){p.from, p.from});
	}
}

// lines reads what is not data, line by line, from a copy of the beginning of p, and
// returns where what follows begins.
static uint32_t lines(reader *r, window p) {
	uint8_t bytes[128];
	text w = {bytes, look(p, bytes, sizeof bytes)};
	uint32_t i = skip_mark(r, w);
	while (i < w.len && !r->event.over) {
		i = skip_ends(r, w, i);
		text rest = after(w, i);
		if (at_data(r, &rest)) {
			r->event.seen = true, r->place = IN_DATA;
			return p.from + w.len - rest.len;
		}
		uint32_t n = line_len(rest);
		i = w.len - rest.len + n;
		if (i == w.len) {
			collect(r, rest);
			break;
		}
		end_line(r, p, (text){rest.bytes, n});
		r->cr = w.bytes[i] == '\r';
		i++;
	}
	return p.from + i;
}

uint32_t reader_next(reader *r, window p) {
	if (r->event.over) r->event = (occasion){0};
	while (p.from < p.to && !r->event.over) {
		switch (r->place) {
		case IN_DATA:
			p.from = data(r, p);
			break;
		case IN_REST:
			p.from = skip(r, p);
			break;
		case IN_LINE:
			p.from = lines(r, p);
			break;
		}
	}
	return p.from;
}

text reader_id(const reader *r) { return (text){r->memo->id, r->id_len}; }

void reader_restart(reader *r) {
	if (r->event.open) wharf_deliver_mem(r->exchange, 0, 0, WHARF_ABORT);
	*r = (reader){.exchange = r->exchange, .memo = r->memo, .id_len = r->id_len, .retry = r->retry};
}
