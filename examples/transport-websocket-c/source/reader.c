// What the server sends. Every byte is looked at, since a text has to be UTF-8, through a
// window; the payloads of data frames are delivered from the host's memory, part by part
// as they come, so no message is ever whole here. How the stream was cut makes no
// difference.
#define WHARF_NO_MARKER
#include "websocket.h"

static struct {
	uint8_t head[10]; // of the current frame, as far as it has come
	uint32_t have;    // how much of it that is
	uint64_t left;    // of the payload, once the head is whole
	bool begun;       // a message has begun and not ended
	utf8_check check;
	uint8_t signal[LONGEST_CONTROL]; // the payload of a control frame
	uint32_t heard;                  // how much of it has come
} reader;

static uint8_t window[16 << 10];

// head_len is the length of the current head, or 2 while that is not known.
static uint32_t head_len(void) {
	if (reader.have < 2) return 2;
	uint8_t len = reader.head[1] & (uint8_t)~MASKED;
	return len == EXTENDED16 ? 4 : len == EXTENDED64 ? 10 : 2;
}

static uint8_t opcode(void) { return reader.head[0] & (uint8_t)~(FINAL | RESERVED); }

static bool is_final(void) { return reader.head[0] & FINAL; }

static bool is_control(void) { return opcode() >= CLOSE; }

// length sets what is left from the head, and reports whether it is written in as few
// bytes as it can be and without the sign.
static bool length(void) {
	reader.left = reader.head[1] & (uint8_t)~MASKED;
	if (reader.left < EXTENDED16) return true;
	uint64_t least = reader.left == EXTENDED64 ? 1 << 16 : EXTENDED16;
	reader.left = 0;
	for (uint32_t i = 2; i < head_len(); i++) reader.left = reader.left << 8 | reader.head[i];
	return reader.left >= least && reader.left >> 63 == 0;
}

// wrong returns what the rules have against a head, or 0, and sets what is left of its
// frame (sections 5.1, 5.2, 5.4 and 5.5).
static const char *wrong(void) {
	bool minimal = length();
	uint8_t op = opcode();
	if (reader.head[0] & RESERVED) return "the server sent a frame with reserved bits, though no extension was agreed on";
	if ((op > BINARY && op < CLOSE) || op > PONG) return "the server sent a frame of an unknown kind";
	if (reader.head[1] & MASKED) return "the server sent a masked frame, which only clients do";
	if (!minimal) return "the server sent a frame whose length is not written as it must be";
	if (is_control() && !is_final()) return "the server sent a control frame in fragments";
	if (is_control() && reader.left > LONGEST_CONTROL) return "the server sent a control frame of more than 125 bytes";
	if (op == CONTINUATION && !reader.begun) return "the server sent the continuation of no message";
	if ((op == TEXT || op == BINARY) && reader.begun) return "the server sent a message before the one in fragments has ended";
	return 0;
}

// begin looks at a head that is whole.
static int32_t begin(void) {
	const char *why = wrong();
	if (why) return break_off(BAD_FRAME, why);
	if (opcode() == BINARY) return break_off(BAD_KIND, "the server sent a binary message; MCP is text");
	reader.heard = 0;
	if (!is_control()) reader.begun = !is_final();
	return 0;
}

// control takes the next bytes of a control frame.
static int32_t control(const uint8_t *bytes, uint32_t len) {
	for (uint32_t i = 0; i < len; i++) reader.signal[reader.heard++] = bytes[i];
	if (reader.left > 0) return 0;
	if (opcode() == CLOSE) return closed(reader.signal, reader.heard);
	if (opcode() == PING && !socket.closing) send_control(PONG, reader.signal, reader.heard);
	return 0;
}

// payload takes the next bytes of a frame, which stand at off in the event; reader.left is
// what comes after them.
static int32_t payload(uint32_t off, const uint8_t *bytes, uint32_t len) {
	if (is_control()) return control(bytes, len);
	bool last = reader.left == 0 && is_final();
	if (!utf8_add(&reader.check, bytes, len) || (last && reader.check.missing > 0))
		return break_off(BAD_TEXT, "the server sent a text that is not UTF-8");
	if (len > 0 || last) wharf_deliver(SHARED, off, len, last ? WHARF_FIN : WHARF_MORE);
	return 0;
}

// chunk takes bytes that are in the window, and at off in the event. After the close frame
// of the server nothing means anything.
static int32_t chunk(uint32_t off, uint32_t len) {
	for (uint32_t i = 0; i < len && !socket.over;) {
		int32_t status = 0;
		if (reader.have == 0 || reader.have < head_len()) {
			reader.head[reader.have++] = window[i++];
			if (reader.have < 2 || reader.have < head_len()) continue;
			if ((status = begin()) < 0) return status;
			if (reader.left > 0) continue; // until there is some of it
		}
		uint32_t n = len - i;
		if (n > reader.left) n = (uint32_t)reader.left;
		reader.left -= n;
		if ((status = payload(off + i, window + i, n)) < 0) return status;
		i += n;
		if (reader.left == 0) reader.have = 0;
	}
	return 0;
}

int32_t read(uint32_t off, uint32_t len) {
	while (off < len) {
		uint32_t n = len - off < sizeof window ? len - off : sizeof window;
		wharf_take(off, window, n);
		int32_t status = chunk(off, n);
		if (status < 0) return status;
		off += n;
	}
	return 0;
}
