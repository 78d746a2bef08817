// Newline-delimited JSON, the framing of MCP over byte streams (2026-07-28,
// basic/transports/stdio). A message costs two host calls, a scan and a deliver. A
// carriage return stays with its line, since it is white space in JSON; a byte order
// mark is dropped at the very start and nowhere else; empty lines are skipped. A line
// that the host finds malformed has no effect on those after it.
#include "framing.h"

static bool partial;    // a part of the current line is delivered
static bool begun;      // the start was checked for a byte order mark
static uint32_t marked; // bytes of the mark that are withheld
static uint8_t last;    // of the delivered part, without white space; 0 for none

static const uint8_t mark[3] = {0xEF, 0xBB, 0xBF};

// send writes the message and a newline, which leave together.
static int32_t send(uint32_t handle, window message) {
	int32_t status = wharf_forward(handle, message.from, message.to - message.from, WHARF_MORE);
	return status < 0 ? status : wharf_write(handle, "\n", 1, WHARF_MORE);
}

// release delivers what was withheld for a mark that turned out to be none.
static void release(uint32_t withheld) {
	begun = true;
	if (withheld == 0) return;
	wharf_deliver_mem(SHARED, mark, withheld, WHARF_MORE);
	partial = true;
}

// skip_mark returns where the text begins behind a byte order mark. Bytes that may
// belong to one are withheld until that is known.
static uint32_t skip_mark(window p) {
	uint8_t head[sizeof mark];
	uint32_t withheld = marked, n = look(p, head, sizeof mark - withheld);
	for (uint32_t i = 0; i < n; i++) {
		if (head[i] != mark[marked]) {
			release(withheld);
			return p.from;
		}
		marked++;
	}
	begun = marked == sizeof mark;
	return p.from + n;
}

// data delivers the lines that end in p, and the part of one that p ends with.
static void data(window p) {
	if (!begun) p.from = skip_mark(p);
	while (p.from < p.to) {
		uint32_t end = scan(p, '\n', '\n');
		if (end == p.to) {
			deliver(p, WHARF_MORE);
			last = final(p, last);
			partial = true;
			return;
		}
		if (end > p.from || partial) deliver((window){p.from, end}, WHARF_FIN);
		partial = false, last = 0;
		p.from = end + 1;
	}
}

// end delivers a last line that has no newline. What does not end as a message does
// is no message, but the end of a server that was about to send one.
static void end(void) {
	if (partial && closes(last)) wharf_deliver_mem(SHARED, 0, 0, WHARF_FIN);
	partial = false, last = 0;
}

const framing lines = {send, data, end};
