// A transport plugin for Wharf: MCP in lines of JSON over the byte stream that the
// address of a server entry leads to, a unix socket, TCP or TLS. README.md says how
// to build, test and use it, and what to change first; wharf.h is the contract.
#include "wharf.h"

// The connection. Wharf makes an instance of the module for each, so this is all the
// state there is. The bytes of messages stay with the host.
static uint32_t stream;
static bool partial; // the beginning of a message has been delivered, and its end has not

// Messages on a stream that all share belong to this exchange: the host finds by its
// id which call an answer belongs to.
enum { SHARED = 0 };

// ---- The framing: how messages look on the stream. For another one, change these
// three functions and nothing else.

// send queues one message, which lies from start to end of the payload, and the
// newline that ends it; they leave together. A message has no newline in it, and its
// bytes are not copied into the plugin.
static int32_t send(uint32_t start, uint32_t end) {
	int32_t status = wharf_forward(stream, start, end - start, WHARF_MORE);
	if (status < 0) return status;
	return wharf_write(stream, "\n", 1, WHARF_MORE);
}

// receive finds the messages in a chunk of len bytes, from off on. A chunk may hold many
// of them, and a part of one: that part is delivered as it is, and the host puts it
// together. What is no JSON-RPC is the host's to deal with as well.
static void receive(uint32_t off, uint32_t len) {
	while (off < len) {
		int32_t end = wharf_scan(off, wharf_needles('\n', '\n', '\n', '\n'));
		if (end < 0) {
			wharf_deliver(SHARED, off, len - off, WHARF_MORE);
			partial = true;
			return;
		}
		if ((uint32_t)end > off || partial) wharf_deliver(SHARED, off, (uint32_t)end - off, WHARF_FIN);
		partial = false;
		off = (uint32_t)end + 1;
	}
}

// finish is told that nothing more will come: a last message may lack its newline.
static void finish(void) {
	if (partial) wharf_deliver_mem(SHARED, "", 0, WHARF_FIN);
	partial = false;
}

// ---- The connection.

// describe says what Wharf has to know before it connects anything. The grant has a
// name and no address: a user gives one to each server, and the plugin never learns it.
static int32_t describe(void) {
	uint8_t bytes[256];
	wharf_block b = wharf_begin(bytes, sizeof bytes);
	wharf_text(&b, WHARF_NAME, "pigeon");
	wharf_text(&b, WHARF_VERSION, "0.1.0");
	wharf_text(&b, WHARF_SUMMARY, "MCP in lines of JSON over a byte stream");
	wharf_grant(&b, WHARF_GRANT, WHARF_STREAM, "main");
	wharf_number(&b, WHARF_CANCELS, WHARF_BY_MESSAGE); // the server is told of a cancel by a message like any other
	wharf_number(&b, WHARF_UNSOLICITED, 1);            // the server may speak first
	return wharf_report(WHARF_MANIFEST, 0, WHARF_OK, bytes, wharf_finish(&b));
}

static void fail(uint32_t exchange, int32_t status, const char *why) {
	wharf_report(WHARF_FAILED, exchange, status, why, wharf_length(why));
}

// dial opens what the server entry grants, and does not wait for it: OPENED or ERROR
// follows. The stream is essential, so the connection ends when the stream does, and
// the host, which knows why, tells the user.
static int32_t dial(void) {
	uint8_t bytes[64];
	wharf_block b = wharf_begin(bytes, sizeof bytes);
	wharf_text(&b, WHARF_GRANT_NAME, "main");
	wharf_number(&b, WHARF_FLAGS, WHARF_ESSENTIAL);
	int32_t handle = wharf_open(WHARF_STREAM, 0, bytes, wharf_finish(&b));
	if (handle < 0) {
		fail(0, handle, "the stream was not opened; give the server an address");
		return handle;
	}
	stream = (uint32_t)handle;
	return 0;
}

// message sends one message. All of it is queued when send returns, and nothing more
// will be said of it, which is what HANDED_OVER means.
static int32_t message(uint32_t exchange, uint32_t start, uint32_t end) {
	int32_t status = send(start, end);
	if (status >= 0) return WHARF_HANDED_OVER;
	fail(exchange, status, "the server closed the stream");
	return WHARF_LATER;
}

// wharf_event takes everything that happens. Messages come only after UP, so where the
// server entry has a provider sign in, what that gives (sealed: it can be forwarded and
// not read) is the first thing in the stream. A kind of event that is not named here
// needs nothing done.
int32_t wharf_event(uint32_t kind, uint32_t handle, uint32_t arg, uint32_t len) {
	switch (kind) {
	case WHARF_DESCRIBE:
		return describe();
	case WHARF_OPEN:
		return dial();
	case WHARF_MESSAGE:
		return message(arg, handle, len);
	case WHARF_OPENED:
		if (arg & WHARF_SEALED) wharf_forward(handle, 0, len, WHARF_MORE);
		wharf_report(WHARF_UP, 0, WHARF_OK, 0, 0);
		break;
	case WHARF_DATA:
		receive(0, len);
		if (arg & WHARF_LAST) finish();
		break;
	case WHARF_END:
		finish();
		break;
	case WHARF_CLOSE:
		wharf_close(stream);
		wharf_report(WHARF_ENDED, 0, WHARF_OK, 0, 0);
		break;
	}
	return 0;
}
