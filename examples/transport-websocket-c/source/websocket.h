// What the files of the plugin share: one WebSocket (RFC 6455), as a client.
#ifndef WEBSOCKET_H
#define WEBSOCKET_H

#include "wharf.h"

// Messages that came by the one stream belong to the shared exchange.
enum { SHARED = 0 };

// The first two bytes of a frame (section 5.2).
enum {
	FINAL = 1 << 7, RESERVED = 7 << 4, MASKED = 1 << 7,
	CONTINUATION = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10,
	EXTENDED16 = 126, EXTENDED64 = 127, // the length is in the next two bytes, or eight
	LONGEST_CONTROL = 125,
};

// Codes of a close frame (section 7.4.1).
enum { DONE = 1000, BAD_FRAME = 1002, BAD_KIND = 1003, BAD_TEXT = 1007, NO_CODE = 1005 };

// The connection. An instance of the module serves one, so it is all there is.
typedef struct {
	uint32_t handle;
	bool up;      // the handshake is done
	bool closing; // our close frame is out, and nothing follows it
	bool over;    // both are, or one of them is enough
} connection;

extern connection socket;

// websocket.c

// fail ends the connection with a text for the user.
int32_t fail(int32_t status, const char *why);

// break_off does the same, and tells the server the code.
int32_t break_off(uint16_t code, const char *why);

// end is the end of a connection that we closed.
void end(void);

// reader.c

// read takes len bytes of the stream, from off on in the payload of the event.
int32_t read(uint32_t off, uint32_t len);

// writer.c

// send_text sends the payload of the event from off on as a text message.
int32_t send_text(uint32_t off, uint32_t len);

// send_control sends a control frame with up to LONGEST_CONTROL bytes.
void send_control(uint8_t opcode, const uint8_t *payload, uint32_t len);

// send_close sends a close frame with a code.
void send_close(uint16_t code);

// closing.c

// closed takes the close frame of the server.
int32_t closed(const uint8_t *payload, uint32_t len);

// text.c

// A check of a text that comes in parts, which may be cut within a character. The zero
// value is ready.
typedef struct {
	uint32_t missing;    // bytes of the character that is begun
	uint8_t least, most; // what the next of them may be
} utf8_check;

// utf8_add reports whether the text can still be UTF-8 with this as its next part.
bool utf8_add(utf8_check *check, const uint8_t *bytes, uint32_t len);

// put_decimal adds a number to b.
void put_decimal(wharf_block *b, uint32_t n);

// put_line adds what can be printed of a text to b, with before ahead of it, and nothing
// where nothing can be. With folds, white space between two words is one blank; without,
// each blank stays.
void put_line(wharf_block *b, const char *before, const uint8_t *bytes, uint32_t len, bool folds);

#endif
