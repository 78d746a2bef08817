// A transport plugin in C: MCP in lines of JSON over a unix socket, TCP or TLS. It
// does what examples/transport-socket does in Go, and passes the same tests. There
// is no C library in it, no allocation, and no byte of a message.
#include "wharf.h"

// Messages that came by the one stream belong to the shared exchange.
enum { SHARED = 0 };

// The connection. An instance of the module serves one, so it is all there is.
static struct {
	uint32_t stream;
	bool partial;    // a part of the current line is delivered
	bool begun;      // the start was checked for a byte order mark
	uint32_t marked; // bytes of the mark that are withheld
} socket;

static const uint8_t mark[3] = {0xEF, 0xBB, 0xBF};

// describe says what Wharf has to know before it connects anything.
static int32_t describe(void) {
	uint8_t bytes[256];
	wharf_block b = wharf_begin(bytes, sizeof bytes);
	wharf_text(&b, WHARF_NAME, "socket-c");
	wharf_text(&b, WHARF_VERSION, "1.0.0");
	wharf_text(&b, WHARF_SUMMARY, "MCP in lines of JSON over a unix socket, TCP or TLS");
	wharf_grant(&b, WHARF_GRANT, WHARF_STREAM, "main");
	wharf_number(&b, WHARF_CANCELS, WHARF_BY_MESSAGE);
	wharf_number(&b, WHARF_UNSOLICITED, 1);
	return wharf_report(WHARF_MANIFEST, 0, WHARF_OK, bytes, wharf_finish(&b));
}

static int32_t fail(uint32_t exchange, int32_t status, const char *why) {
	wharf_report(WHARF_FAILED, exchange, status, why, wharf_length(why));
	return status;
}

// dial opens what the server entry grants. The stream is essential: its end is the
// end of the connection, and the host, which knows why, tells the user.
static int32_t dial(void) {
	uint8_t bytes[64];
	wharf_block b = wharf_begin(bytes, sizeof bytes);
	wharf_text(&b, WHARF_GRANT_NAME, "main");
	wharf_number(&b, WHARF_FLAGS, WHARF_ESSENTIAL);
	int32_t handle = wharf_open(WHARF_STREAM, SHARED, bytes, wharf_finish(&b));
	if (handle < 0) return fail(0, handle, "the socket was not opened; give the server an address");
	socket.stream = (uint32_t)handle;
	return 0;
}

// send queues a message, which begins at start, and a newline. They leave together.
static int32_t send(uint32_t exchange, uint32_t start, uint32_t end) {
	int32_t status = wharf_forward(socket.stream, start, end - start, WHARF_MORE);
	if (status >= 0) status = wharf_write(socket.stream, "\n", 1, WHARF_MORE);
	if (status >= 0) return WHARF_HANDED_OVER;
	fail(exchange, status, "the server closed the socket");
	return WHARF_LATER;
}

// release delivers what was withheld for a mark that turned out to be none.
static void release(uint32_t withheld) {
	socket.begun = true;
	if (withheld == 0) return;
	wharf_deliver_mem(SHARED, mark, withheld, WHARF_MORE);
	socket.partial = true;
}

// skip_mark returns where the text begins behind a byte order mark, which may come
// in pieces. What may belong to one is withheld until that is known.
static uint32_t skip_mark(void) {
	uint8_t head[sizeof mark];
	uint32_t withheld = socket.marked;
	uint32_t n = (uint32_t)wharf_take(0, head, sizeof mark - withheld);
	for (uint32_t i = 0; i < n; i++) {
		if (head[i] != mark[socket.marked]) {
			release(withheld);
			return 0;
		}
		socket.marked++;
	}
	socket.begun = socket.marked == sizeof mark;
	return n;
}

// read delivers the lines that end in the payload, and the part of one that it
// ends with. They stay where they are: the host finds the ends and takes the lines.
static void read(uint32_t len) {
	uint32_t off = 0;
	if (!socket.begun && len > 0) off = skip_mark();
	while (off < len) {
		int32_t end = wharf_scan(off, wharf_needles('\n', '\n', '\n', '\n'));
		if (end < 0) {
			wharf_deliver(SHARED, off, len - off, WHARF_MORE);
			socket.partial = true;
			return;
		}
		if ((uint32_t)end > off || socket.partial) wharf_deliver(SHARED, off, (uint32_t)end - off, WHARF_FIN);
		socket.partial = false;
		off = (uint32_t)end + 1;
	}
}

// finish delivers a last line that has no newline.
static void finish(void) {
	if (!socket.begun) release(socket.marked);
	if (socket.partial) wharf_deliver_mem(SHARED, mark, 0, WHARF_FIN);
	socket.partial = false;
}

// wharf_event takes everything that happens. What signs in comes sealed with OPENED,
// and is the first thing in the stream, since messages come only after UP.
int32_t wharf_event(uint32_t kind, uint32_t handle, uint32_t arg, uint32_t len) {
	switch (kind) {
	case WHARF_DESCRIBE:
		return describe();
	case WHARF_OPEN:
		return dial();
	case WHARF_MESSAGE:
		return send(arg, handle, len);
	case WHARF_OPENED:
		if (arg & WHARF_SEALED) wharf_forward(handle, 0, len, WHARF_MORE);
		wharf_report(WHARF_UP, 0, WHARF_OK, 0, 0);
		break;
	case WHARF_DATA:
		read(len);
		if (arg & WHARF_LAST) finish();
		break;
	case WHARF_END:
		finish();
		break;
	case WHARF_CLOSE:
		wharf_close(socket.stream);
		wharf_report(WHARF_ENDED, 0, WHARF_OK, 0, 0);
		break;
	}
	return 0;
}
