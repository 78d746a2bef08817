// Finds out how a server frames what it sends: by a header where the first text begins
// with C or c, by lines where it begins with a brace or a bracket. A line that begins
// otherwise is noise, delivered as it stands so that the host counts it, and the next
// line decides. Until a server has sent a header, it is written to by lines.
#include "framing.h"

static const framing *chosen; // 0 while nothing has decided
static bool noise;            // the current line does not decide

static bool of_mark(uint8_t c) { return c == 0xEF || c == 0xBB || c == 0xBF; }

static uint32_t skip_line(window p) {
	uint32_t end = scan(p, '\n', '\n');
	noise = end == p.to;
	if (!noise) end++;
	lines.data((window){p.from, end});
	return end;
}

// sniff looks at the beginning of p and returns where what is still to be framed
// begins. White space and a byte order mark decide nothing.
static uint32_t sniff(window p) {
	if (noise) return skip_line(p);
	uint8_t bytes[32];
	uint32_t n = look(p, bytes, sizeof bytes);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t c = bytes[i];
		if (is_space(c) || of_mark(c)) continue;
		if (c == 'C' || c == 'c') {
			chosen = &lengths;
		} else if (c == '{' || c == '[') {
			chosen = &lines;
		} else {
			noise = true;
		}
		return p.from + i;
	}
	return p.from + n;
}

// send writes as the server does, by lines as long as that is not known.
static int32_t send(uint32_t handle, window message) { return (chosen ? chosen : &lines)->send(handle, message); }

// data looks for the byte that decides, and passes on what follows.
static void data(window p) {
	while (!chosen && p.from < p.to) p.from = sniff(p);
	if (p.from < p.to) chosen->data(p);
}

// end passes on that the stream is over.
static void end(void) { (chosen ? chosen : &lines)->end(); }

const framing either = {send, data, end};
