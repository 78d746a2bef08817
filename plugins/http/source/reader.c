// The events of a stream and the data in them.
#include "reader.h"

// deliver_part delivers a part of the event's data. Only the first n bytes of p are
// data, the others a line end.
static void deliver_part(reader *r, window p, uint32_t n) {
	r->event.size += n;
	if (r->event.size == 0) return;
	deliver(r->exchange, p, WHARF_MORE);
	r->event.open = true;
}

void reader_finish(reader *r, window p) {
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
		reader_finish(r, (window){p.from, end});
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
			p.from = reader_lines(r, p);
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
