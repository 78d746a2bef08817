// The transport plugin for servers that are child processes: it writes messages to
// their stdin and reads messages from their stdout. It is in C because every program
// that starts a server has it, and in Go its runtime would be most of what it costs.
#include "wharf.h"
#include "framing.h"

// The process is essential: its end is the end of the connection, and the host, which
// knows its exit code and its last words on stderr, needs no report about it.
static uint32_t process;

static const framing *framer;

enum {
	OVER = 1,     // the timer that runs when the server has closed its stdout
	GRACE = 2000, // ms that its process has to end after that
};

// How the era of a server behind this transport is found out.
enum { PROBE_STDIO = 1 };

// The block that comes with OPEN. Few are longer than a hundred bytes.
static uint8_t settings[16 << 10];

// describe says what Wharf has to know before it connects anything.
static int32_t describe(void) {
	uint8_t bytes[512];
	wharf_block b = wharf_begin(bytes, sizeof bytes);
	wharf_text(&b, WHARF_NAME, "stdio");
	wharf_text(&b, WHARF_VERSION, "0.1.0");
	wharf_text(&b, WHARF_SUMMARY, "MCP over the stdin and stdout of a child process");
	wharf_pair(&b, WHARF_SETTING, "framing", "ndjson (the default), content-length, or auto to follow the server");
	wharf_grant(&b, WHARF_GRANT, WHARF_PROCESS, "main");
	wharf_number(&b, WHARF_CANCELS, WHARF_BY_MESSAGE);
	wharf_number(&b, WHARF_PROBE, PROBE_STDIO);
	wharf_number(&b, WHARF_UNSOLICITED, 1);
	return wharf_report(WHARF_MANIFEST, 0, WHARF_OK, bytes, wharf_finish(&b));
}

// The names of the statuses, from 0 down.
static const char *const statuses[] = {
	"OK", "DENIED", "UNAVAILABLE", "MALFORMED", "LIMIT", "CLOSED", "NOT_FOUND", "UNREACHABLE", "TIMED_OUT", "RESET",
	"PROTOCOL", "TOO_LARGE", "STALLED", "INTERNAL", "REFUSED", "UNAUTHORIZED",
};

static int32_t fail(uint32_t exchange, int32_t status, const char *why) {
	wharf_report(WHARF_FAILED, exchange, status, why, wharf_length(why));
	return status;
}

// A text in what was taken of the settings.
typedef struct {
	const uint8_t *bytes;
	uint32_t len;
} text;

static bool same(text t, const char *other) {
	for (uint32_t i = 0; i < t.len; i++) {
		if (other[i] == 0 || t.bytes[i] != (uint8_t)other[i]) return false;
	}
	return other[t.len] == 0;
}

static uint32_t u32(const uint8_t *b) { return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24; }

// framing_of finds the setting of that name; it is missing where nothing was set. It
// returns false where the settings are no block.
static bool framing_of(uint32_t len, text *value) {
	enum { VALUE = 2, HEAD = 6 };
	if (len < 4 || u32(settings) != len - 4) return false;
	for (uint32_t at = 4; at < len;) {
		if (len - at < HEAD) return false;
		uint32_t tag = settings[at] | (uint32_t)settings[at + 1] << 8, size = u32(settings + at + 2);
		at += HEAD;
		if (size > len - at) return false;
		if (tag == VALUE) {
			if (size < 4 || u32(settings + at) > size - 4) return false;
			uint32_t key = u32(settings + at);
			if (same((text){settings + at + 4, key}, "framing")) {
				*value = (text){settings + at + 4 + key, size - 4 - key};
				return true;
			}
		}
		at += size;
	}
	return true;
}

// named returns the framing of that name, or 0.
static const framing *named(text name) {
	if (name.len == 0 || same(name, "ndjson")) return &lines;
	if (same(name, "content-length")) return &lengths;
	if (same(name, "auto")) return &either;
	return 0;
}

static int32_t unknown(text name) {
	static uint8_t bytes[sizeof settings + 128];
	wharf_block b = {bytes, sizeof bytes, 0};
	wharf_put_text(&b, "framing = \"");
	for (uint32_t i = 0; i < name.len; i++) wharf_put(&b, name.bytes[i]);
	wharf_put_text(&b, "\" is unknown: use \"ndjson\", \"content-length\" or \"auto\"");
	wharf_report(WHARF_FAILED, 0, WHARF_MALFORMED, bytes, b.len);
	return WHARF_MALFORMED;
}

// refused says with which status the host did not open anything.
static int32_t refused(int32_t status) {
	uint8_t bytes[64];
	wharf_block b = {bytes, sizeof bytes, 0};
	wharf_put_text(&b, "open process main");
	if ((uint32_t)-status < sizeof statuses / sizeof *statuses) {
		wharf_put_text(&b, ": ");
		wharf_put_text(&b, statuses[-status]);
	}
	wharf_report(WHARF_FAILED, 0, status, bytes, b.len);
	return status;
}

// start has the process of the server entry started.
static int32_t start(void) {
	uint8_t bytes[64];
	wharf_block b = wharf_begin(bytes, sizeof bytes);
	wharf_text(&b, WHARF_GRANT_NAME, "main");
	wharf_number(&b, WHARF_FLAGS, WHARF_ESSENTIAL);
	int32_t handle = wharf_open(WHARF_PROCESS, SHARED, bytes, wharf_finish(&b));
	if (handle < 0) return refused(handle);
	process = (uint32_t)handle;
	return 0;
}

static int32_t open(uint32_t len) {
	text name = {0, 0};
	if (len > sizeof settings) return fail(0, WHARF_TOO_LARGE, "the settings are longer than 16 KiB");
	look((window){0, len}, settings, sizeof settings);
	if (!framing_of(len, &name)) return fail(0, WHARF_MALFORMED, "the settings are no block");
	framer = named(name);
	return framer ? start() : unknown(name);
}

static int32_t send(uint32_t exchange, window message) {
	int32_t status = framer->send(process, message);
	if (status >= 0) return WHARF_HANDED_OVER;
	fail(exchange, status, "the server no longer reads its stdin");
	return WHARF_LATER;
}

// end is the end of stdout. As a rule that of the process follows at once, and says
// more; a server that lives on has nothing to answer with.
static void end(void) {
	framer->end();
	wharf_timer(OVER, GRACE);
}

// wharf_event takes everything that happens. What is not named here needs nothing done.
int32_t wharf_event(uint32_t kind, uint32_t handle, uint32_t arg, uint32_t len) {
	switch (kind) {
	case WHARF_DESCRIBE:
		return describe();
	case WHARF_OPEN:
		return open(len);
	case WHARF_MESSAGE:
		return send(arg, (window){handle, len});
	case WHARF_OPENED:
		wharf_report(WHARF_UP, 0, WHARF_OK, 0, 0);
		break;
	case WHARF_DATA:
		framer->data((window){0, len});
		if (arg & WHARF_LAST) end();
		break;
	case WHARF_END:
		end();
		break;
	case WHARF_TIMER:
		fail(0, WHARF_CLOSED, "the server closed its stdout");
		break;
	case WHARF_CLOSE:
		wharf_close(process);
		wharf_report(WHARF_ENDED, 0, WHARF_OK, 0, 0);
		break;
	}
	return 0;
}
