#include "answer.h"
#include "block.h"
#include "listener.h"
#include "memory.h"
#include "reply.h"
#include "report.h"
#include "request.h"
#include "session.h"
#include "stream.h"

// is_success reports whether a status says that a message was accepted.
static bool is_success(uint32_t status) { return status >= 200 && status < 300; }

// fail_quoting ends a call with what the server has said of it.
static void fail_quoting(call *c, int32_t status, text before) {
	wharf_block said = sentence();
	put_bytes(&said, before);
	refusal_put(&said, &c->refusal);
	reply_fail(c, status, kept(&said));
}

// refused ends a call whose status was no success. That a message may be sent again is
// only said where the status means that nothing was done with it.
static void refused(call *c) {
	bool acted = c->refusal.status >= 500 && c->refusal.status != 503;
	fail_quoting(c, acted ? WHARF_PROTOCOL : WHARF_REFUSED, TEXT(""));
}

// expired ends a call that the server refused because it does not know the session. Its
// body says nothing more, even where it is JSON.
static void expired(call *c) {
	report_expired(c->exchange);
	if (c->resumed) {
		reply_fail(c, WHARF_RESET, TEXT("HTTP 404: the server forgot the session before it answered"));
	} else {
		reply_fail(c, WHARF_REFUSED, TEXT("HTTP 404: the server no longer knows the session"));
	}
	if (session_forget(c->epoch)) {
		listener_stop();
		wharf_save(0, 0);
	}
}

// alien ends a call whose answer is of a kind that has no message in it.
static void alien(call *c, text media) {
	wharf_block said = sentence();
	refusal_put(&said, &c->refusal);
	wharf_put_text(&said, ": expected " MEDIA_JSON " or " MEDIA_EVENTS ", got ");
	for (uint32_t i = 0; i < media.len && i < WORDS; i++) wharf_put(&said, lower(media.bytes[i]));
	reply_fail(c, WHARF_PROTOCOL, kept(&said));
}

// begin_session is for the answer to an initialize.
static void begin_session(call *c) {
	listener_stop();
	if (session_begin(c->epoch + 1, block_pair(HEAD_HEADER, TEXT("mcp-session-id")))) {
		session_save(TEXT(""));
	} else {
		reply_fail(c, WHARF_TOO_LARGE, TEXT("the id of the session is longer than this plugin has memory for"));
	}
}

// accepted is for a message that the server took.
static void accepted(call *c, media media) {
	if (!c->waits || c->refusal.status == 202 || c->refusal.status == 204) {
		c->form = EMPTY;
	} else if (media.json || media.name.len == 0) {
		c->form = JSON;
	} else if (media.events) {
		c->form = EVENTS;
	} else {
		alien(c, media.name);
	}
	if (c->opens && (c->form == JSON || c->form == EVENTS)) begin_session(c);
}

// finish_message ends a call whose body, the last of which is p, was to be one message.
static void finish_message(call *c, window p) {
	int32_t verdict = deliver(c->exchange, p, WHARF_FIN);
	if (verdict == WHARF_ANSWER || verdict == WHARF_WRONG_ID) {
		reply_done(c);
		return;
	}
	refusal_add(&c->refusal, p);
	if (!is_success(c->refusal.status)) {
		refused(c);
	} else if (verdict == WHARF_TOO_BIG) {
		reply_fail(c, WHARF_TOO_LARGE, TEXT("the answer is longer than a message may be"));
	} else if (verdict == WHARF_NO_MESSAGE) {
		fail_quoting(c, WHARF_PROTOCOL, TEXT("expected one JSON-RPC message, got "));
	} else {
		reply_done(c);
	}
}

// message takes a body that is one message. A body beyond the cap has lost its answer
// already, so the rest of it is not waited for.
static void message(call *c, window p, bool last) {
	c->size += width(p);
	if (last || c->size > reply_cap) {
		finish_message(c, p);
		return;
	}
	refusal_add(&c->refusal, p);
	if (width(p) > 0) deliver(c->exchange, p, WHARF_MORE);
}

// body takes the next bytes of the response.
static void body(call *c, window p, bool last) {
	switch (c->form) {
	case JSON:
		message(c, p, last);
		break;
	case EVENTS:
		stream(c, p, last);
		break;
	case TEXT: // a notification has no caller that would read the body
		if (refusal_add(&c->refusal, p) || last || !c->waits) refused(c);
		break;
	case EMPTY:
		c->answered = !c->waits;
		if (last) {
			reply_done(c);
		} else {
			stream_drain(c, width(p));
		}
		break;
	case UNKNOWN:
	case PAUSED:
	case OVER:
		break;
	}
}

// classify finds out what the response is, or ends the call.
static void classify(call *c, media media) {
	uint32_t status = c->refusal.status;
	if (c->named && status == 404) {
		expired(c);
	} else if (c->resumed) {
		stream_continued(c, status, media.events);
	} else if (is_success(status)) {
		accepted(c, media);
	} else {
		c->form = media.json && c->waits ? JSON : TEXT;
	}
}

static int32_t head(call *c, const event *e) {
	window rest;
	int32_t status = block_head(e, &rest);
	if (status < 0) return status;
	c->refusal.status = e->arg & 0xFFFF, c->refusal.len = 0;
	bool handshaken = is_success(c->refusal.status) && c->member && session_lives(c->epoch);
	classify(c, media_type());
	if (handshaken && listener_is_deaf() && c->form == EMPTY && is_last(e)) {
		listener_first(c);
		return 0;
	}
	body(c, rest, is_last(e));
	if (handshaken) listener_begin();
	return 0;
}

// broken ends a call that failed below HTTP, or waits to resume it.
static void broken(call *c, const event *e) {
	if (c->answered) {
		reply_done(c);
	} else if ((c->form == EVENTS && stream_is_resumable(c)) || (c->resumed && c->tries < MAX_TRIES)) {
		stream_pause(c);
	} else if (c->form == TEXT) {
		refused(c);
	} else {
		wharf_block said = sentence();
		wharf_put_text(&said, c->resumed ? "GET: " : "POST: ");
		said.len += look(payload(e), said.bytes + said.len, WORDS);
		reply_fail(c, (int32_t)e->arg, kept(&said));
	}
}

int32_t answer(call *c, const event *e) {
	switch (e->kind) {
	case WHARF_HEAD:
		return head(c, e);
	case WHARF_DATA:
	case WHARF_END:
		body(c, payload(e), is_last(e));
		break;
	case WHARF_ERROR:
		broken(c, e);
		break;
	}
	return 0;
}
