// An auth provider for Wharf, without an SDK: client credentials (RFC 6749,
// section 4.4) from the sign-in of a company. What goes in and out is described
// by `go doc github.com/wharf-mcp/wharf/abi/step`; this file keeps that contract
// and knows nothing else of Wharf.
//
// These are its flows. Each line is a step: what came in, then the actions.
//
//	start initial        → load
//	loaded (fresh)       → credentials, done
//	loaded (none, stale) → load, locked
//	start expired        → load, locked
//	start challenged     → load, locked
//	start login          → load, locked
//	loaded, locked (fresh, and neither refused nor from before a login)
//	                     → credentials, done      another process was faster
//	loaded, locked       → http
//	http_response 200    → store
//	stored               → credentials, done
//	start upscope        → fail config
//	start logout         → forget
//	stored               → done
//
// Between steps, the state holds where the flow is and the start event as it
// came, so every step reads settings and server from there.
#include "json.h"

// A record that expires within this time is not given any more: the host counts
// it as expired. In milliseconds.
enum { MARGIN = 60 * 1000 };

// What a step works on.
typedef struct {
	piece event, start, server, settings;
	piece at;     // where the flow is: "load", "lock", "http", "stored", "forget"
	piece record; // of the state: what was stored
	int64_t now;
} step;

static const char manifest[] =
	"{\"abi\":\"wharf-auth-0\",\"name\":\"corp-sso\",\"version\":\"1.0.0\","
	"\"about\":\"client credentials from the sign-in of a company\","
	"\"settings\":["
	"{\"key\":\"url\",\"about\":\"the address that gives tokens\",\"required\":true},"
	"{\"key\":\"client_id\",\"about\":\"who asks\",\"required\":true},"
	"{\"key\":\"client_secret\",\"about\":\"what proves it\",\"required\":true,\"secret\":true},"
	"{\"key\":\"variable\",\"about\":\"the variable that a server gets its token in if it is a process; CORP_TOKEN if it is not said\"}],"
	"\"wants\":{\"discover\":true,\"material\":true}}";

static piece setting(const step *s, const char *key, uint32_t size) { return text(member_of(s->settings, key, size)); }
#define SETTING(s, key) setting(s, "\"" key "\"", sizeof(key) + 1)

// begin writes the state, up to where the actions begin.
static int32_t begin(const step *s, piece at) {
	PUT("{\"state\":{\"at\":\"");
	put_piece(at);
	PUT("\",\"start\":");
	put_piece(s->start);
	if (s->record.size) { PUT(",\"record\":"); put_piece(s->record); }
	PUT("},\"actions\":[");
	return 0;
}

#define BEGIN(s, at) begin(s, (piece){at, sizeof(at) - 1})

static int32_t end(void) { PUT("]}"); return 0; }

// put_key writes whose token it is: this provider's host keeps it apart from all
// others, and we by issuer, client and server.
static void put_key(const step *s) {
	piece resource = text(member(s->server, "resource"));
	PUT("{\"name\":\"token\",\"issuer\":");
	put_text(SETTING(s, "url"));
	PUT(",\"client\":");
	put_text(SETTING(s, "client_id"));
	if (resource.size) { PUT(",\"resource\":"); put_text(resource); }
	put('}');
}

// fail ends the flow. The texts hold nothing that a server said.
static int32_t fail(const step *s, const char *class, const char *what, const char *hint) {
	PUT("{\"actions\":[{\"kind\":\"fail\",\"fail\":{\"class\":\"");
	while (*class) put(*class++);
	PUT("\",\"message\":\"");
	while (*what) put(*what++);
	put_text_part(text(member(s->server, "name")));
	if (*hint) PUT("\",\"hint\":\"");
	while (*hint) put(*hint++);
	PUT("\"}}]}");
	return 0;
}

static int32_t load(const step *s, bool lock) {
	if (lock) BEGIN(s, "lock");
	else BEGIN(s, "load");
	PUT("{\"kind\":\"load\",\"load\":{\"key\":");
	put_key(s);
	if (lock) PUT(",\"lock\":true");
	PUT("}}");
	return end();
}

static int32_t forget(const step *s) {
	BEGIN(s, "forget");
	PUT("{\"kind\":\"forget\",\"forget\":{\"key\":");
	put_key(s);
	PUT("}}");
	return end();
}

static int32_t done(void) {
	PUT("{\"actions\":[{\"kind\":\"done\"}]}");
	return 0;
}

// credentials gives a token: to requests, or to a process, which has no URL.
static int32_t credentials(const step *s, piece record) {
	piece token = text(member(record, "token")), variable = SETTING(s, "variable");
	int64_t expires = number(member(record, "expires_at"));
	if (!text(member(s->server, "url")).size) {
		PUT("{\"actions\":[{\"kind\":\"material\",\"material\":{\"env\":{");
		if (variable.size) put_text(variable);
		else PUT("\"CORP_TOKEN\"");
		put(':');
		put_text(token);
		PUT("}}},{\"kind\":\"done\"}]}");
		return 0;
	}
	PUT("{\"actions\":[{\"kind\":\"credentials\",\"credentials\":{\"scheme\":\"Bearer\",\"token\":");
	put_text(token);
	if (expires > 0) { PUT(",\"expires_at\":"); put_number(expires); }
	PUT("}},{\"kind\":\"done\"}]}");
	return 0;
}

// is_token tells what can stand in a header: visible, and one word.
static bool is_token(piece token) {
	for (uint32_t i = 0; i < token.size; i++)
		if (token.at[i] <= ' ' || token.at[i] > '~') return false;
	return token.size > 0;
}

// usable reports whether a record has what this flow wants. A login wants a token
// from now, and a challenge another than the one that was refused.
static bool usable(const step *s, piece record) {
	piece reason = text(member(s->start, "reason")), token = text(member(record, "token"));
	int64_t expires = number(member(record, "expires_at"));
	if (!is_token(token) || IS(reason, "login")) return false;
	if (IS(reason, "challenged") && equal(token, text(member(member(s->start, "challenge"), "token")))) return false;
	return expires > 0 ? expires > s->now + MARGIN : !IS(reason, "expired");
}

// is_url holds the secret to where it cannot be overheard.
static bool is_url(piece url) {
	static const char *const prefixes[] = {"https://", "http://127.0.0.1:", "http://localhost:"};
	for (uint32_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
		uint32_t n = 0;
		while (prefixes[i][n] && n < url.size && url.at[n] == prefixes[i][n]) n++;
		if (!prefixes[i][n] && n < url.size) return true;
	}
	return false;
}

// ask sends the client's id and secret, and for which server the token shall be
// (RFC 8707).
static int32_t ask(const step *s) {
	piece resource = text(member(s->server, "resource"));
	BEGIN(s, "http");
	PUT("{\"kind\":\"http\",\"http\":{\"method\":\"POST\",\"url\":");
	put_text(SETTING(s, "url"));
	PUT(",\"headers\":{\"Content-Type\":\"application/x-www-form-urlencoded\",\"Accept\":\"application/json\"}");
	PUT(",\"body\":\"grant_type=client_credentials&client_id=");
	put_form(SETTING(s, "client_id"));
	PUT("&client_secret=");
	put_form(SETTING(s, "client_secret"));
	if (resource.size) { PUT("&resource="); put_form(resource); }
	PUT("\"}}");
	return end();
}

static bool is_bearer(piece type) {
	static const char word[] = "bearer";
	if (!type.size) return true; // some leave it out
	for (uint32_t i = 0; i < sizeof word - 1; i++)
		if (type.size != sizeof word - 1 || (type.at[i] | 32) != word[i]) return false;
	return true;
}

// answered keeps the token that came, to the disk before it is used.
static int32_t answered(step *s, piece response) {
	int64_t status = number(member(response, "status"));
	if (status == 400 || status == 401 || status == 403)
		return fail(s, "config", "the sign-in of the company does not take the client id and secret of ", "check client_id and client_secret");
	if (status != 200)
		return fail(s, "retry", "the sign-in of the company has no token now for ", "");
	piece body = whole(text(member(response, "body"))), token = text(member(body, "access_token"));
	int64_t lives = number(member(body, "expires_in"));
	if (!is_token(token) || !is_bearer(text(member(body, "token_type"))))
		return fail(s, "retry", "the sign-in of the company answered without a bearer token for ", "check url: is it the token endpoint?");

	uint32_t from = output_size;
	PUT("{\"token\":");
	put_text(token);
	if (lives > 0 && lives < 1000000000) { PUT(",\"expires_at\":"); put_number(s->now + lives * 1000); }
	put('}');
	// The record is a part of the state as well. It is written once, read as a
	// text, and the output begins anew.
	piece record = {output.bytes + from, output_size - from};
	uint32_t kept = texts_size;
	for (uint32_t i = 0; i < record.size; i++) text_byte((unsigned char)record.at[i]);
	s->record = (piece){texts + kept, record.size};
	output_size = from;

	BEGIN(s, "stored");
	PUT("{\"kind\":\"store\",\"store\":{\"key\":");
	put_key(s);
	PUT(",\"value\":");
	put_piece(s->record);
	PUT("}}");
	return end();
}

// unanswered says why the sign-in could not be asked.
static int32_t unanswered(const step *s, piece problem) {
	piece code = text(member(problem, "code"));
	if (IS(code, "network") || IS(code, "timeout"))
		return fail(s, "retry", "the sign-in of the company cannot be reached for ", "");
	return fail(s, "config", "the sign-in of the company may not be asked for ", "check url, and the origins of the plugin");
}

static int32_t started(const step *s) {
	piece reason = text(member(s->start, "reason"));
	if (!is_url(SETTING(s, "url")) || !SETTING(s, "client_id").size || !SETTING(s, "client_secret").size)
		return fail(s, "config", "url, which begins with https, client_id and client_secret are wanted in the auth of ", "");
	if (IS(reason, "upscope"))
		return fail(s, "config", "the client may not do what was asked of ", "ask those who run the sign-in for more rights");
	if (IS(reason, "logout")) return forget(s);
	return load(s, !IS(reason, "initial"));
}

// go_on takes the step that follows on what was awaited. A vault that does not
// work costs a request and no login: its problems count as no record.
static int32_t go_on(step *s, piece kind) {
	piece record = member(member(s->event, "record"), "value"), problem = member(s->event, "problem");
	if (IS(kind, "loaded") && usable(s, record)) return credentials(s, record);
	if (IS(kind, "loaded") && IS(s->at, "load")) return load(s, true);
	if (IS(kind, "loaded") && IS(s->at, "lock")) return ask(s);
	if (IS(kind, "http_response") && IS(s->at, "http"))
		return problem.size ? unanswered(s, problem) : answered(s, member(s->event, "response"));
	if (IS(kind, "stored") && IS(s->at, "stored")) return credentials(s, s->record);
	if (IS(kind, "stored") && IS(s->at, "forget"))
		return problem.size ? fail(s, "retry", "the token could not be removed from the vault, of ", "") : done();
	return fail(s, "config", "this provider is built for another version of Wharf than the one that signs in to ", "get one that fits");
}

// take_step answers one call.
static int32_t take_step(uint32_t size) {
	piece call = whole((piece){input.bytes, size}), state = member(call, "state");
	step s = {.event = member(call, "event"), .at = text(member(state, "at")), .record = member(state, "record")};
	piece kind = text(member(s.event, "kind"));
	bool starts = IS(kind, "start");
	s.start = member(starts ? s.event : state, "start");
	s.server = member(s.start, "server");
	s.settings = member(s.start, "settings");
	s.now = number(member(s.event, "now"));
	if (!s.start.size || s.now < 0) { PUT("the call is not of this contract"); return broken(); }
	if (starts) started(&s);
	else go_on(&s, kind);
	if (output_size <= MAX_REPLY && texts_size <= MAX_TEXTS) return reply();
	output_size = 0;
	PUT("the call is larger than this provider can answer");
	return broken();
}

EXPORT(wharf_auth_describe) int32_t wharf_auth_describe(void) {
	output_size = 0;
	PUT(manifest);
	return reply();
}

EXPORT(wharf_auth_step) int32_t wharf_auth_step(void) {
	output_size = texts_size = 0;
	return take_step(receive());
}
