// The close frame of the server: the end of a handshake that we began, or the beginning of
// one (section 5.5.1).
#define WHARF_NO_MARKER
#include "websocket.h"

// Codes that are registered, what they mean to the host (whether to come again makes
// sense), and what a person may read of them.
static const struct {
	uint16_t code;
	int8_t status;
	const char *meaning;
} codes[] = {
	{1000, WHARF_CLOSED, "it is done"},
	{1001, WHARF_CLOSED, "it is going away"},
	{1002, WHARF_PROTOCOL, "it found an error in the protocol"},
	{1003, WHARF_PROTOCOL, "it does not accept this kind of data"},
	{1007, WHARF_PROTOCOL, "it found a text that is not what it should be"},
	{1008, WHARF_DENIED, "against its policy"},
	{1009, WHARF_TOO_LARGE, "the message was too long for it"},
	{1010, WHARF_PROTOCOL, "it expected an extension"},
	{1011, WHARF_UNAVAILABLE, "it met an error of its own"},
	{1012, WHARF_UNAVAILABLE, "it restarts"},
	{1013, WHARF_UNAVAILABLE, "it asks to try again later"},
	{1014, WHARF_UNAVAILABLE, "a server behind it gave a wrong answer"},
	{3000, WHARF_UNAUTHORIZED, "it wants a sign-in"},
	{3003, WHARF_DENIED, "it does not allow this"},
	{3008, WHARF_TIMED_OUT, "it ran out of time"},
};

// is_code reports whether a close frame may have a code. Those below 3000 are as
// registered; the rest are for libraries and applications.
static bool is_code(uint32_t code) {
	return (code >= 3000 && code < 5000) || (code >= 1007 && code <= 1014) || (code >= 1000 && code <= 1003);
}

// wrong_code reports a closing code that the protocol does not allow.
static int32_t wrong_code(uint32_t code) {
	uint8_t line[100];
	wharf_block b = {line, sizeof line, 0};
	wharf_put_text(&b, "the server sent a close frame with the code ");
	put_decimal(&b, code);
	wharf_put_text(&b, ", which none may have");
	wharf_put(&b, 0);
	return break_off(BAD_FRAME, (const char *)line);
}

// describe adds a code and its reason, for people: "1001 (it is going away): bye". It
// returns what the code means to the host.
static int32_t describe(wharf_block *b, uint32_t code, const uint8_t *reason, uint32_t len) {
	int32_t status = WHARF_CLOSED;
	put_decimal(b, code);
	for (uint32_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		if (codes[i].code != code) continue;
		status = codes[i].status;
		wharf_put_text(b, " (");
		wharf_put_text(b, codes[i].meaning);
		wharf_put_text(b, ")");
	}
	put_line(b, ": ", reason, len, false);
	return status;
}

// answer is our half of a handshake that the server began. What it says is why the
// connection ends.
static int32_t answer(uint32_t code, const uint8_t *payload, uint32_t len) {
	uint8_t line[256];
	wharf_block b = {line, sizeof line, 0};
	wharf_put_text(&b, "the server closed the WebSocket: ");
	int32_t status = WHARF_CLOSED;
	socket.closing = true;
	if (len == 0) {
		wharf_put_text(&b, "it gave no reason");
		send_control(CLOSE, 0, 0);
	} else {
		status = describe(&b, code, payload + 2, len - 2);
		send_close((uint16_t)code);
	}
	wharf_report(WHARF_FAILED, 0, status, line, b.len);
	return status;
}

int32_t closed(const uint8_t *payload, uint32_t len) {
	if (len == 1) return break_off(BAD_FRAME, "the server sent a close frame with half a code");
	uint32_t code = len == 0 ? NO_CODE : (uint32_t)payload[0] << 8 | payload[1];
	if (len > 0 && !is_code(code)) return wrong_code(code);
	utf8_check check = {0, 0, 0};
	if (len > 2 && (!utf8_add(&check, payload + 2, len - 2) || check.missing > 0))
		return break_off(BAD_TEXT, "the server sent a close frame whose reason is not UTF-8");
	if (!socket.closing) return answer(code, payload, len);
	end();
	return 0;
}
