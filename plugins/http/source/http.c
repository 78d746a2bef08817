// The transport plugin for servers at an http or https address: Streamable HTTP, of the
// era with sessions and of the one without. Every message is a POST of its own, and the
// response to it comes back on the message's exchange. Beside the calls there are, in the
// legacy era, a session and a stream for what belongs to no message. It is in C because
// in Go its runtime would be most of what a client of a remote server pays.
#include "wharf.h"
#include "answer.h"
#include "block.h"
#include "listener.h"
#include "memory.h"
#include "reply.h"
#include "report.h"
#include "request.h"
#include "session.h"
#include "stream.h"

static uint32_t farewell; // the DELETE of the session, or 0

// How the era of a server behind this transport is found out.
enum { PROBE_HTTP = 2 };

// describe says what Wharf has to know before it connects anything.
static int32_t describe(void) {
	uint8_t bytes[256];
	wharf_block b = wharf_begin(bytes, sizeof bytes);
	wharf_text(&b, WHARF_NAME, "http");
	wharf_text(&b, WHARF_VERSION, "0.1.0");
	wharf_text(&b, WHARF_SUMMARY, "MCP over Streamable HTTP");
	wharf_grant(&b, WHARF_GRANT, WHARF_HTTP, "main");
	wharf_number(&b, WHARF_CANCELS, WHARF_BY_STREAM);
	wharf_number(&b, WHARF_PROBE, PROBE_HTTP);
	wharf_number(&b, WHARF_UNSOLICITED, 1);
	return wharf_report(WHARF_MANIFEST, 0, WHARF_OK, bytes, wharf_finish(&b));
}

// open has nothing to connect: the first POST will.
static int32_t open(uint32_t len) {
	int32_t status = block_settings(len);
	if (status < 0) return status;
	reply_cap = block_u32(SETTING_CAP);
	if (reply_cap == 0) reply_cap = INT32_MAX;
	report_up();
	return 0;
}

// begin opens the exchange of a message, whose facts are the current block, and makes
// its call. Where it cannot, it says so and returns 0.
static call *begin(uint32_t exchange) {
	uint32_t epoch = block_u32(FACT_EPOCH);
	text version = block_text(FACT_VERSION);
	call *c = calls_new(exchange);
	if (!c) {
		report_failed(exchange, WHARF_LIMIT, TEXT("more calls are on their way than this plugin has memory for"));
		return 0;
	}
	bool member = session_meet(epoch, version);
	text session = member ? session_id() : TEXT("");
	int32_t handle = request_post(exchange, version, session);
	if (handle < 0) {
		reply_unopened(c, handle);
		return 0;
	}
	calls_hold(c, (uint32_t)handle);
	c->epoch = epoch;
	c->waits = block_u32(FACT_KIND) == FACT_REQUEST, c->opens = same(block_text(FACT_METHOD), TEXT("initialize"));
	c->member = member, c->named = session.len > 0;
	return c;
}

// send sends a POST. A message of a session that is gone is refused here: the server
// would say the same.
static int32_t send(uint32_t exchange, window message) {
	if (!block_take(message.from)) {
		report_failed(exchange, WHARF_TOO_LARGE, TEXT("what is to be known of the message is longer than this plugin has memory for"));
		return WHARF_LATER;
	}
	int32_t status = block_facts();
	if (status < 0) return status;
	if (session_lost(block_u32(FACT_EPOCH), block_text(FACT_VERSION))) {
		report_expired(exchange);
		report_failed(exchange, WHARF_REFUSED, TEXT("the session that it was for has ended"));
		return WHARF_LATER;
	}
	call *c = begin(exchange);
	if (c) wharf_forward(c->handle, message.from, width(message), WHARF_FIN);
	return WHARF_LATER;
}

// response finds out what an event of an HTTP response is about.
static int32_t response(const event *e) {
	if (e->handle == 0) return 0;
	if (listener_is(e->handle)) return listener_take(e);
	if (farewell == e->handle) {
		wharf_close(farewell);
		report_ended();
		return 0;
	}
	call *c = calls_at(e->handle);
	return c ? answer(c, e) : 0;
}

// cancel forgets a call. The host closes its stream when it sees that this has been
// heard, and in the modern era that is what tells the server.
static void cancel(uint32_t exchange) {
	if (listener_holds(exchange)) {
		listener_release();
		return;
	}
	call *c = calls_of(exchange);
	if (!c) return;
	reader_restart(&c->events);
	if (c->form == PAUSED) wharf_timer(exchange, 0);
	calls_end(c);
}

static void resume(uint32_t exchange) {
	call *c = calls_of(exchange);
	if (c && c->form == PAUSED) stream_resume(c);
}

static void timer(uint32_t id) {
	switch (id) {
	case LISTENER_TIMER:
		listener_open();
		break;
	case HOLD_TIMER:
		listener_release();
		break;
	case DRAIN_TIMER:
		stream_tick();
		break;
	default:
		resume(id);
	}
	calls_rearm(); // there is room for a timer now
}

// leave ends the session at the server, who may refuse to.
static void leave(void) {
	int32_t handle = session_id().len == 0 ? WHARF_CLOSED : request_bare(0, TEXT("DELETE"), TEXT(""));
	if (handle < 0) {
		report_ended();
		return;
	}
	farewell = (uint32_t)handle;
	listener_leave();
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
	case WHARF_HEAD:
	case WHARF_DATA:
	case WHARF_END:
	case WHARF_ERROR:
		return response(&(event){kind, handle, arg, len});
	case WHARF_CANCEL:
		cancel(arg);
		break;
	case WHARF_TIMER:
		timer(handle);
		break;
	case WHARF_RESUME:
		listener_resume(session_restore(block_bytes(len)));
		break;
	case WHARF_CLOSE:
		leave();
		break;
	}
	return 0;
}
