// A transport plugin in C: MCP over WebSocket (RFC 6455), one JSON text a text message,
// under the subprotocol mcp. It does what examples/transport-websocket does in Go, and
// passes the same tests.
//
// The host makes the handshake: it makes Sec-WebSocket-Key and checks Sec-WebSocket-Accept.
// From HEAD with 101 on the exchange is a byte stream, and this is the framing of it.
#include "websocket.h"

connection socket;

// FAREWELL is the timer of a close handshake that we began, and PATIENCE how many
// milliseconds the server has for its half. It is less than what the host gives a guest
// that is told to end.
enum { FAREWELL = 1, PATIENCE = 1000 };

static const char subprotocol[] = "sec-websocket-protocol";

// An answer that is no 101: its status and the beginning of its body.
static struct {
	uint32_t status, len;
	uint8_t body[200];
} refusal;

int32_t fail(int32_t status, const char *why) {
	wharf_report(WHARF_FAILED, 0, status, why, wharf_length(why));
	return status;
}

// bye sends a close frame, once; nothing may follow it (section 5.5.1).
static void bye(uint16_t code) {
	if (!socket.closing) send_close(code);
	socket.closing = true;
}

int32_t break_off(uint16_t code, const char *why) {
	bye(code);
	return fail(WHARF_PROTOCOL, why);
}

void end(void) {
	if (socket.over) return;
	socket.over = true;
	wharf_timer(FAREWELL, 0);
	wharf_close(socket.handle);
	wharf_report(WHARF_ENDED, 0, WHARF_OK, 0, 0);
}

static int32_t describe(void) {
	uint8_t bytes[256];
	wharf_block b = wharf_begin(bytes, sizeof bytes);
	wharf_text(&b, WHARF_NAME, "websocket");
	wharf_text(&b, WHARF_VERSION, "1.1.0");
	wharf_text(&b, WHARF_SUMMARY, "MCP over WebSocket");
	wharf_grant(&b, WHARF_GRANT, WHARF_HTTP, "main");
	wharf_number(&b, WHARF_CANCELS, WHARF_BY_MESSAGE);
	wharf_number(&b, WHARF_UNSOLICITED, 1);
	return wharf_report(WHARF_MANIFEST, 0, WHARF_OK, bytes, wharf_finish(&b));
}

// dial asks for the upgrade. The socket is essential: a server that leaves without a word
// ends the connection, and the host says so.
static int32_t dial(void) {
	uint8_t bytes[256];
	wharf_block b = wharf_begin(bytes, sizeof bytes);
	wharf_text(&b, WHARF_GRANT_NAME, "main");
	wharf_number(&b, WHARF_FLAGS, WHARF_ESSENTIAL | WHARF_UPGRADE);
	wharf_text(&b, WHARF_METHOD, "GET");
	wharf_pair(&b, WHARF_HEADER, "upgrade", "websocket");
	wharf_pair(&b, WHARF_HEADER, "sec-websocket-version", "13");
	wharf_pair(&b, WHARF_HEADER, subprotocol, "mcp");
	int32_t handle = wharf_open(WHARF_HTTP, SHARED, bytes, wharf_finish(&b));
	if (handle < 0) return fail(handle, "the WebSocket was not opened; give the server a url");
	socket.handle = (uint32_t)handle;
	return 0;
}

// send sends one message, all of it in this event.
static int32_t send(uint32_t exchange, uint32_t start, uint32_t len) {
	const char *why = "the WebSocket is closing";
	int32_t status = WHARF_CLOSED;
	if (!socket.closing) {
		status = send_text(start, len - start);
		if (status >= 0) return WHARF_HANDED_OVER;
		why = "the server closed the WebSocket";
	}
	wharf_report(WHARF_FAILED, exchange, status, why, wharf_length(why));
	return WHARF_LATER;
}

// status_of is what the status of an answer means to the host.
static int32_t status_of(uint32_t http) {
	switch (http) {
	case 404: case 410:
		return WHARF_NOT_FOUND;
	case 401: // who calls may come in when they have signed in; with 403 not even then
		return WHARF_UNAUTHORIZED;
	case 403:
		return WHARF_DENIED;
	case 429: case 502: case 503: case 504:
		return WHARF_UNAVAILABLE;
	}
	return WHARF_PROTOCOL;
}

// refused is the error of an upgrade that was answered otherwise.
static int32_t refused(void) {
	uint8_t line[400];
	wharf_block b = {line, sizeof line, 0};
	wharf_put_text(&b, "no WebSocket here: expected HTTP 101, got HTTP ");
	put_decimal(&b, refusal.status);
	put_line(&b, ": ", refusal.body, refusal.len, true);
	if (refusal.len == sizeof refusal.body) wharf_put_text(&b, "…");
	int32_t status = status_of(refusal.status);
	wharf_report(WHARF_FAILED, 0, status, line, b.len);
	return status;
}

// refuse keeps the next bytes of an answer that is no 101. The end of it is the end of
// the connection.
static int32_t refuse(uint32_t off, uint32_t len, bool last) {
	uint32_t room = sizeof refusal.body - refusal.len, n = len - off;
	if (n > room) n = room;
	if (n > 0) wharf_take(off, refusal.body + refusal.len, n);
	refusal.len += n;
	return last || refusal.len == sizeof refusal.body ? refused() : 0;
}

// wrong_subprotocol is the error of a server that chose what was not offered.
static int32_t wrong_subprotocol(const uint8_t *chosen, uint32_t len) {
	uint8_t line[200];
	wharf_block b = {line, sizeof line, 0};
	wharf_put_text(&b, "the server chose the subprotocol \"");
	for (uint32_t i = 0; i < len; i++) wharf_put(&b, chosen[i]);
	wharf_put_text(&b, "\", which was not offered; expected \"mcp\"");
	bye(BAD_FRAME);
	wharf_report(WHARF_FAILED, 0, WHARF_PROTOCOL, line, b.len);
	return WHARF_PROTOCOL;
}

static bool is_same(const uint8_t *bytes, const char *text, uint32_t len) {
	for (uint32_t i = 0; i < len; i++)
		if (bytes[i] != (uint8_t)text[i]) return false;
	return true;
}

// chosen finds the subprotocol that a head of size bytes names, and copies the beginning of it.
// It returns how long that is, and 0 if the server chose no subprotocol, which is allowed
// (section 4.1), and some servers do.
static uint32_t chosen(uint32_t size, uint8_t *to, uint32_t room) {
	enum { NAME = sizeof subprotocol - 1 };
	uint8_t field[10 + NAME]; // its tag, its length, the length of the name, and the name
	for (uint32_t off = 4, len; off + sizeof field <= size; off += 6 + len) {
		if (wharf_take(off, field, sizeof field) != sizeof field) return 0;
		len = wharf_u32(field + 2);
		if (field[0] != 1 || field[1] != 0 || wharf_u32(field + 6) != NAME || !is_same(field + 10, subprotocol, NAME)) continue;
		uint32_t value = len - 4 - NAME;
		if (value > room) value = room;
		if (value > 0) wharf_take(off + sizeof field, to, value);
		return value;
	}
	return 0;
}

// answered is told what the server says to the upgrade.
static int32_t answered(uint32_t arg, uint32_t len) {
	uint8_t field[4], name[100];
	if (wharf_take(0, field, sizeof field) != sizeof field) return fail(WHARF_MALFORMED, "a head without its length");
	uint32_t size = sizeof field + wharf_u32(field);
	if (size < sizeof field || size > len) return fail(WHARF_MALFORMED, "a head is longer than its event");
	if ((arg & 0xFFFF) != 101) {
		refusal.status = arg & 0xFFFF;
		return refuse(size, len, arg & WHARF_HEAD_LAST);
	}
	uint32_t n = chosen(size, name, sizeof name);
	if (n > 0 && !(n == 3 && is_same(name, "mcp", 3))) return wrong_subprotocol(name, n);
	socket.up = true;
	wharf_report(WHARF_UP, 0, WHARF_OK, 0, 0);
	return 0;
}

// data takes the bytes of the stream, or those of an answer that is no 101.
static int32_t data(uint32_t len, bool last) {
	if (!socket.up) return refuse(0, len, last);
	int32_t status = read(0, len);
	if (status == 0 && last && socket.closing) end();
	return status;
}

// leave begins the close handshake that the host wishes for.
static void leave(void) {
	if (!socket.up) {
		end();
		return;
	}
	bye(DONE);
	wharf_timer(FAREWELL, PATIENCE);
}

// wharf_event takes everything that happens. What fails the socket itself is the host's
// to tell, since the socket is essential.
int32_t wharf_event(uint32_t kind, uint32_t handle, uint32_t arg, uint32_t len) {
	switch (kind) {
	case WHARF_DESCRIBE:
		return describe();
	case WHARF_OPEN:
		return dial();
	case WHARF_MESSAGE:
		return send(arg, handle, len);
	case WHARF_HEAD:
		return answered(arg, len);
	case WHARF_DATA:
		return data(len, arg & WHARF_LAST);
	case WHARF_END:
		return data(len, true);
	case WHARF_TIMER:
		end();
		break;
	case WHARF_CLOSE:
		leave();
		break;
	}
	return 0;
}
