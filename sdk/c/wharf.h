// The contract between Wharf and a transport plugin, for guests in C: names and
// numbers, and as much code as encoding a block takes. The normative text is
// `go doc github.com/wharf-mcp/wharf/abi`; nothing here says more than that.
//
// It needs a compiler for wasm32 and nothing else: no C library, no SDK. Copy it.
// examples/transport-socket-c is a whole plugin that includes it.
#ifndef WHARF_H
#define WHARF_H

#include <stdbool.h>
#include <stdint.h>

// The version of the contract stands here and nowhere else.
#define WHARF_MODULE "wharf1"
#define WHARF_MARKER "wharf_abi_1"

#define WHARF_EXPORT(name) __attribute__((export_name(name)))
#define WHARF_CALL(name) __attribute__((import_module(WHARF_MODULE), import_name(name))) extern

// What a plugin defines: its reaction to one event.
WHARF_EXPORT("wharf_event")
int32_t wharf_event(uint32_t kind, uint32_t handle, uint32_t arg, uint32_t len);

// The mark of the version, never called. One file of a plugin includes this header,
// or defines WHARF_NO_MARKER in the others.
#ifndef WHARF_NO_MARKER
WHARF_EXPORT(WHARF_MARKER) void wharf_marker(void) {}
#endif

// Kinds of events. A guest returns 0 from those that it does not know.
enum {
	WHARF_DESCRIBE = 1, WHARF_OPEN, WHARF_MESSAGE, WHARF_CANCEL, WHARF_OPENED, WHARF_HEAD, WHARF_DATA,
	WHARF_END, WHARF_ERROR, WHARF_EXIT, WHARF_TIMER, WHARF_RESUME, WHARF_CLOSE,
};

// Results of MESSAGE beside a status.
enum { WHARF_LATER = 0, WHARF_HANDED_OVER = 1 };

// Flags in the arg of events: of DATA, of HEAD and of OPENED.
enum { WHARF_LAST = 1, WHARF_HEAD_LAST = 1 << 16, WHARF_SEALED = 1 };

// Flags of deliver, deliver_mem, forward and write.
enum { WHARF_MORE = 0, WHARF_FIN = 1, WHARF_ABORT = 2 };

// Kinds of open, and the flags of an open request.
enum { WHARF_PROCESS = 1, WHARF_STREAM, WHARF_HTTP };
enum { WHARF_ESSENTIAL = 1, WHARF_UPGRADE = 2 };

// What can be reported.
enum { WHARF_MANIFEST = 1, WHARF_UP, WHARF_DONE, WHARF_FAILED, WHARF_EXPIRED, WHARF_ENDED };

// Levels of the log.
enum { WHARF_DEBUG, WHARF_INFO, WHARF_WARN, WHARF_ERROR_LEVEL };

// Verdicts on a message that is whole.
enum {
	WHARF_PENDING = 0, WHARF_ANSWER, WHARF_NOTE, WHARF_REQUEST, WHARF_BLANK,
	WHARF_NO_MESSAGE = -32, WHARF_WRONG_ID = -33, WHARF_LATE = -34, WHARF_TOO_BIG = -35,
};

// Statuses.
enum {
	WHARF_OK = 0, WHARF_DENIED = -1, WHARF_UNAVAILABLE = -2, WHARF_MALFORMED = -3, WHARF_LIMIT = -4,
	WHARF_CLOSED = -5, WHARF_NOT_FOUND = -6, WHARF_UNREACHABLE = -7, WHARF_TIMED_OUT = -8, WHARF_RESET = -9,
	WHARF_PROTOCOL = -10, WHARF_TOO_LARGE = -11, WHARF_STALLED = -12, WHARF_INTERNAL = -13, WHARF_REFUSED = -14,
	WHARF_UNAUTHORIZED = -15,
};

// The host calls. An off counts from the start of the event's payload.
WHARF_CALL("take") int32_t wharf_take(uint32_t off, void *to, uint32_t len);
WHARF_CALL("scan") int32_t wharf_scan(uint32_t off, uint32_t needles);
WHARF_CALL("deliver") int32_t wharf_deliver(uint32_t exchange, uint32_t off, uint32_t len, uint32_t flags);
WHARF_CALL("deliver_mem") int32_t wharf_deliver_mem(uint32_t exchange, const void *from, uint32_t len, uint32_t flags);
WHARF_CALL("forward") int32_t wharf_forward(uint32_t handle, uint32_t off, uint32_t len, uint32_t flags);
WHARF_CALL("write") int32_t wharf_write(uint32_t handle, const void *from, uint32_t len, uint32_t flags);
WHARF_CALL("open") int32_t wharf_open(uint32_t kind, uint32_t exchange, const void *block, uint32_t len);
WHARF_CALL("close") int32_t wharf_close(uint32_t handle);
WHARF_CALL("timer") int32_t wharf_timer(uint32_t id, uint32_t ms);
WHARF_CALL("report") int32_t wharf_report(uint32_t what, uint32_t exchange, int32_t code, const void *text, uint32_t len);
WHARF_CALL("save") int32_t wharf_save(const void *blob, uint32_t len);
WHARF_CALL("log") void wharf_log(uint32_t level, const void *text, uint32_t len);

// wharf_needles packs up to four bytes to scan for; one that is not needed is a
// repetition of another.
static inline uint32_t wharf_needles(char a, char b, char c, char d) {
	return (uint8_t)a | (uint32_t)(uint8_t)b << 8 | (uint32_t)(uint8_t)c << 16 | (uint32_t)(uint8_t)d << 24;
}

// Tags of a manifest, and of an open request.
enum {
	WHARF_NAME = 1, WHARF_VERSION, WHARF_SUMMARY, WHARF_SETTING, WHARF_GRANT, WHARF_CANCELS, WHARF_PROBE,
	WHARF_UNSOLICITED,
};
enum { WHARF_BY_MESSAGE = 1, WHARF_BY_STREAM = 2 };
enum { WHARF_GRANT_NAME = 1, WHARF_FLAGS, WHARF_METHOD, WHARF_TARGET, WHARF_HEADER };

// A block that is written. What does not fit is left out, which the host refuses;
// so make the room large enough and look no further.
typedef struct {
	uint8_t *bytes;
	uint32_t room, len;
} wharf_block;

static inline void wharf_put(wharf_block *b, uint8_t c) {
	if (b->len < b->room) b->bytes[b->len++] = c;
}

static inline void wharf_put_u32(wharf_block *b, uint32_t n) {
	for (int i = 0; i < 4; i++, n >>= 8) wharf_put(b, (uint8_t)n);
}

static inline uint32_t wharf_length(const char *text) {
	uint32_t n = 0;
	while (text[n]) n++;
	return n;
}

static inline void wharf_put_text(wharf_block *b, const char *text) {
	for (; *text; text++) wharf_put(b, (uint8_t)*text);
}

// wharf_begin begins a block in room bytes of memory.
static inline wharf_block wharf_begin(void *bytes, uint32_t room) {
	wharf_block b = {bytes, room, 0};
	wharf_put_u32(&b, 0);
	return b;
}

static inline void wharf_field(wharf_block *b, uint16_t tag, uint32_t len) {
	wharf_put(b, (uint8_t)tag);
	wharf_put(b, (uint8_t)(tag >> 8));
	wharf_put_u32(b, len);
}

static inline void wharf_text(wharf_block *b, uint16_t tag, const char *text) {
	wharf_field(b, tag, wharf_length(text));
	wharf_put_text(b, text);
}

static inline void wharf_number(wharf_block *b, uint16_t tag, uint32_t n) {
	wharf_field(b, tag, 4);
	wharf_put_u32(b, n);
}

static inline void wharf_pair(wharf_block *b, uint16_t tag, const char *key, const char *value) {
	wharf_field(b, tag, 4 + wharf_length(key) + wharf_length(value));
	wharf_put_u32(b, wharf_length(key));
	wharf_put_text(b, key);
	wharf_put_text(b, value);
}

static inline void wharf_grant(wharf_block *b, uint16_t tag, uint32_t kind, const char *name) {
	wharf_field(b, tag, 4 + wharf_length(name));
	wharf_put_u32(b, kind);
	wharf_put_text(b, name);
}

// wharf_finish writes the length of the block and returns what to pass on.
static inline uint32_t wharf_finish(wharf_block *b) {
	for (uint32_t i = 0, n = b->len - 4; i < 4; i++, n >>= 8) b->bytes[i] = (uint8_t)n;
	return b->len;
}

static inline uint32_t wharf_u32(const uint8_t *at) {
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

// wharf_is_at reports whether a text stands in the payload at off.
static inline bool wharf_is_at(uint32_t off, const char *text) {
	for (uint8_t c; *text; off++, text++)
		if (wharf_take(off, &c, 1) != 1 || c != (uint8_t)*text) return false;
	return true;
}

// wharf_setting finds a setting of the server entry in the payload of OPEN, and copies
// its value. It returns the length of the value, WHARF_NOT_FOUND where there is no such
// setting, or WHARF_TOO_LARGE, and copies nothing, where it is longer than room. The
// two are not the same: a token that is there and too long is not a server without one.
static inline int32_t wharf_setting(const char *key, void *to, uint32_t room) {
	uint8_t head[10]; // of a field, and how long the key is if it is a pair
	for (uint32_t off = 4; wharf_take(off, head, sizeof head) == sizeof head;) {
		uint32_t size = wharf_u32(head + 2), key_size = wharf_u32(head + 6), at = off + sizeof head;
		bool is_setting = head[0] == 2 && head[1] == 0;
		off += 6 + size;
		if (!is_setting || key_size != wharf_length(key) || !wharf_is_at(at, key)) continue;
		uint32_t len = size - 4 - key_size;
		return len > room ? WHARF_TOO_LARGE : wharf_take(at + key_size, to, len);
	}
	return WHARF_NOT_FOUND;
}

// wharf_message_cap finds in the payload of OPEN how many bytes a message may have.
static inline uint32_t wharf_message_cap(void) {
	uint8_t field[10];
	for (uint32_t off = 4; wharf_take(off, field, sizeof field) == sizeof field; off += 6 + wharf_u32(field + 2))
		if (field[0] == 4 && field[1] == 0) return wharf_u32(field + 6);
	return 0;
}

#endif
