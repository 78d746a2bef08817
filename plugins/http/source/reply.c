#include "reply.h"
#include "block.h"
#include "report.h"
#include "request.h"

uint64_t reply_cap;

void reply_done(call *c) {
	report_done(c->exchange);
	wharf_close(c->handle);
	calls_end(c);
}

void reply_fail(call *c, int32_t status, text why) {
	report_failed(c->exchange, status, why);
	if (c->handle != 0) wharf_close(c->handle);
	calls_end(c);
}

void reply_unopened(call *c, int32_t status) {
	wharf_block said = sentence();
	wharf_put_text(&said, "open http main: ");
	put_status(&said, status);
	reply_fail(c, status, kept(&said));
}

static text trim(text t) {
	while (t.len > 0 && (*t.bytes == ' ' || *t.bytes == '\t')) t.bytes++, t.len--;
	while (t.len > 0 && (t.bytes[t.len - 1] == ' ' || t.bytes[t.len - 1] == '\t')) t.len--;
	return t;
}

// is_like reports whether t says just that when its letters are small.
static bool is_like(text t, text other) {
	if (t.len != other.len) return false;
	for (uint32_t i = 0; i < t.len; i++) {
		if (lower(t.bytes[i]) != other.bytes[i]) return false;
	}
	return true;
}

// is_media reports whether a name is that of a media type, as which it is nearly always
// written in small letters.
static bool is_media(text name, text media) { return same(name, media) || is_like(name, media); }

media media_type(void) {
	text value = block_pair(HEAD_HEADER, TEXT("content-type"));
	if (same(value, TEXT(MEDIA_JSON))) return (media){value, true, false};
	text name = trim(cut(&value, ';'));
	return (media){name, is_media(name, TEXT(MEDIA_JSON)), is_media(name, TEXT(MEDIA_EVENTS))};
}
