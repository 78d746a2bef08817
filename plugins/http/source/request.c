#include "request.h"
#include "block.h"
#include "session.h"

static wharf_block request;

// Posts begin alike for as long as a session lasts, so that beginning is left where it
// is. It is of no length where it is not there.
static struct {
	uint32_t len;
	uint32_t version, session; // where those lie in it, and how long they are
	uint32_t version_len, session_len;
} common;

// FIXED is room for all that has one length, and for the headers of the fields.
enum { FIXED = 512 };

// put_header adds a header, unless it is empty, and returns where its value begins.
static uint32_t put_header(text key, text value) {
	if (value.len == 0) return request.len;
	wharf_field(&request, WHARF_HEADER, 4 + key.len + value.len);
	wharf_put_u32(&request, key.len);
	put_bytes(&request, key);
	put_bytes(&request, value);
	return request.len - value.len;
}

static bool begin(text method, uint32_t room) {
	common.len = 0;
	request.len = 0;
	if (!reserve(&request, FIXED + room)) return false;
	request = wharf_begin(request.bytes, request.room);
	wharf_text(&request, WHARF_GRANT_NAME, "main");
	wharf_field(&request, WHARF_METHOD, method.len);
	put_bytes(&request, method);
	return true;
}

static bool begin_posts(text version, text session) {
	if (!begin(TEXT("POST"), version.len + session.len)) return false;
	put_header(TEXT("accept"), TEXT(MEDIA_JSON ", " MEDIA_EVENTS));
	put_header(TEXT("content-type"), TEXT(MEDIA_JSON));
	common.version = put_header(TEXT("mcp-protocol-version"), version), common.version_len = version.len;
	common.session = put_header(TEXT("mcp-session-id"), session), common.session_len = session.len;
	common.len = request.len;
	return true;
}

// is_common reports whether posts begin with just that.
static bool is_common(text version, text session) {
	const uint8_t *bytes = request.bytes;
	return common.len > 0 && same(session, (text){bytes + common.session, common.session_len}) &&
		same(version, (text){bytes + common.version, common.version_len});
}

// mirror adds the headers that came with the facts, as they are but for their tag.
static bool mirror(void) {
	uint32_t at = 0;
	for (text field = block_next(FACT_HEADER, &at); field.len > 0; field = block_next(FACT_HEADER, &at)) {
		if (!reserve(&request, request.len + field.len)) return false;
		uint8_t *tag = request.bytes + request.len;
		put_bytes(&request, field);
		tag[0] = WHARF_HEADER, tag[1] = 0;
	}
	return true;
}

static int32_t open(uint32_t exchange) {
	uint32_t len = wharf_finish(&request);
	return wharf_open(WHARF_HTTP, exchange, request.bytes, len);
}

int32_t request_post(uint32_t exchange, text version, text session) {
	if (!is_common(version, session) && !begin_posts(version, session)) return WHARF_TOO_LARGE;
	request.len = common.len;
	return mirror() ? open(exchange) : WHARF_TOO_LARGE;
}

int32_t request_bare(uint32_t exchange, text method, text last_id) {
	text version = session_version(), session = session_id();
	if (!begin(method, version.len + session.len + last_id.len)) return WHARF_TOO_LARGE;
	if (same(method, TEXT("GET"))) put_header(TEXT("accept"), TEXT(MEDIA_EVENTS));
	put_header(TEXT("mcp-protocol-version"), version);
	put_header(TEXT("mcp-session-id"), session);
	put_header(TEXT("last-event-id"), last_id);
	int32_t handle = open(exchange);
	if (handle > 0) wharf_write((uint32_t)handle, 0, 0, WHARF_FIN);
	return handle;
}
