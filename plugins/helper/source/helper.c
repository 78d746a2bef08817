// The auth provider that asks a program of the user's: the command of the server entry
// prints the headers of a request as JSON, and is run again when they expire or the server
// refuses them. The contract is package step; the twin in Go, examples/auth-helper, is the
// one to read. A flow has two steps:
//
//	start      → run
//	run_result → credentials, done
//
// Between them, the state holds the start event. Failures quote nothing of what the command
// printed on stdout: whatever went wrong, there may be a secret in it.
#include "moment.h"

static const char manifest[] =
	"{\"abi\":\"wharf-auth-0\",\"name\":\"helper\",\"version\":\"0.1.0\",\"about\":\"headers that a program of yours prints\","
	"\"wants\":{\"run\":true}}";

enum {
	MAX_HEADERS = 64,
	MAX_BYTES = 32 << 10, // of all headers
	MAX_FIELDS = 16384,   // of an object of 64 KiB, and more
	MAX_LAST = 300,       // bytes of what the command said last
};

#define MAX_LIFE (10.0 * 366 * 24 * 3600) // seconds

typedef struct { piece key, value; } field;

// What a command has printed.
typedef struct {
	field fields[MAX_FIELDS];
	uint32_t size;
	piece token;
	bool expires;
	moment at;
} printed;

static printed output_of;

static const char *begin_of; // of the object that is read

static void begin_printed(piece server) {
	begin_fail("config");
	PUT("the command of ");
	put_text_part(server);
	PUT(" printed ");
}

static bool end_printed(void) {
	HINT("it shall print {\\\"headers\\\": {\\\"Authorization\\\": \\\"Bearer …\\\"}, \\\"expires_in\\\": 3600} and nothing else on stdout");
	end_fail();
	return false;
}

// REFUSE ends the flow: the command printed that.
#define REFUSE(server, what) return begin_printed(server), PUT(what), end_printed()

// kind_of says what a text begins with, in words of its own.
static piece kind_of(char c) {
	char letter = lower(c);
	if (c == '[') return PIECE("a list");
	if (c == '"') return PIECE("a text in quotes");
	if (c == '<') return PIECE("a <, as in HTML");
	if (is_digit(c) || c == '-') return PIECE("a digit");
	if (letter >= 'a' && letter <= 'z') return PIECE("a letter");
	if ((unsigned char)c < ' ' || (unsigned char)c >= 0x7F) return PIECE("what is no text");
	return PIECE("a sign");
}

static bool broken_json(piece server, piece within, const cursor *c) {
	begin_printed(server);
	put_piece(within);
	PUT("JSON that is broken at about byte ");
	put_number(c->at - begin_of);
	return end_printed();
}

// read_object reads a JSON object and nothing after it into the fields. It takes no key
// twice: of two expiries, which one did the command mean?
static bool read_object(printed *o, piece from, piece server, piece within) {
	cursor c = {from.at, from.at + from.size};
	o->size = 0;
	peek_past_space(&c);
	if (c.at == c.end) REFUSE(server, "nothing");
	begin_of = c.at;
	if (*c.at != '{') {
		begin_printed(server);
		put_piece(within);
		PUT("no JSON object: at its beginning is ");
		put_piece(kind_of(*c.at));
		return end_printed();
	}
	c.at++;
	for (bool more = peek_past_space(&c) != '}'; more;) {
		piece key = {c.at, 0}, value;
		if (!strict_key(&c)) return broken_json(server, within, &c);
		key.size = (uint32_t)(c.at - key.at);
		for (key.size--; key.at[key.size - 1] != '"'; key.size--); // without the colon
		peek_past_space(&c);
		value = (piece){c.at, 0};
		if (!strict_value(&c)) return broken_json(server, within, &c);
		value.size = (uint32_t)(c.at - value.at);
		key = text(key);
		for (uint32_t i = 0; i < o->size; i++)
			if (equal(o->fields[i].key, key)) {
				begin_printed(server);
				put_piece(within);
				PUT("a JSON object with a key that it has twice");
				return end_printed();
			}
		if (o->size < MAX_FIELDS) o->fields[o->size++] = (field){key, value};
		else texts_size = MAX_TEXTS + 1; // larger than can be answered
		char next = peek_past_space(&c);
		if (next != ',' && next != '}') return broken_json(server, within, &c);
		more = next == ',';
		if (more) c.at++, peek_past_space(&c);
	}
	c.at++;
	peek_past_space(&c);
	if (c.at == c.end) return true;
	begin_printed(server);
	put_piece(within);
	PUT("something after the JSON object");
	return end_printed();
}

// take takes a field out, and returns its value, or nothing.
#define take(o, key) take_key(o, PIECE(key))

static piece take_key(printed *o, piece key) {
	for (uint32_t i = 0; i < o->size; i++) {
		if (!equal(o->fields[i].key, key)) continue;
		piece value = o->fields[i].value;
		for (o->size--; i < o->size; i++) o->fields[i] = o->fields[i + 1];
		return value;
	}
	return nothing;
}

// read_expiry takes the expiry out of the fields.
static bool read_expiry(printed *o, int64_t now, piece server) {
	piece in = take(o, "expires_in"), at = take(o, "expires_at");
	o->expires = in.size || at.size;
	if (in.size && at.size) REFUSE(server, "both expires_at and expires_in; leave one of the two out");
	if (in.size) {
		double n = seconds(in);
		if (n < 0 || n > MAX_LIFE) REFUSE(server, "an expires_in that is no number of seconds up to ten years");
		int64_t nanos = (int64_t)(n * 1e9);
		o->at = (moment){now + nanos / 1000000, nanos % 1000000 > 0};
	} else if (at.size && at.at[0] == '"') {
		if (!parse_time(text(at), &o->at)) REFUSE(server, "an expires_at that is no time as in 2026-01-31T12:00:00Z");
	} else if (at.size) {
		double n = seconds(at);
		if (n < 0 || n >= MAX_MOMENT) REFUSE(server, "an expires_at that is no Unix time in seconds, and no text like 2026-01-31T12:00:00Z");
		o->at = (moment){(int64_t)(n * 1000), false};
	}
	return true;
}

// read_headers makes texts of the values.
static bool read_headers(printed *o, piece server) {
	for (uint32_t i = 0; i < o->size; i++) {
		if (o->fields[i].value.at[0] != '"') REFUSE(server, "a header whose value is no text in quotes");
		o->fields[i].value = text(o->fields[i].value);
		for (uint32_t j = 0; j < i; j++)
			if (like(o->fields[i].key, o->fields[j].key)) REFUSE(server, "a header twice, once in upper and once in lower case");
	}
	return true;
}

static bool has_blank(piece p) {
	for (uint32_t i = 0; i < p.size; i++)
		if (p.at[i] == ' ') return true;
	return false;
}

#define AUTHORIZATION PIECE("Authorization")

// check holds the headers to what a request can carry.
static bool check(const printed *o, piece server) {
	uint32_t size = o->token.size;
	for (uint32_t i = 0; i < o->size; i++) {
		field f = o->fields[i];
		fault name = name_fault(f.key), value = value_fault(f.value);
		if (name.before.size || value.before.size) {
			begin_printed(server);
			PUT("headers that cannot be sent: ");
			put_fault(name.before.size ? name : value);
			return end_printed();
		}
		if (o->token.size && like(f.key, AUTHORIZATION)) REFUSE(server, "both \\\"token\\\" and the header Authorization, which is where a token goes");
		size += f.key.size + f.value.size;
	}
	if (o->token.size && (value_fault(o->token).before.size || has_blank(o->token)))
		REFUSE(server, "a \\\"token\\\" with a space or a line end in it; for another scheme than Bearer print headers");
	if (!o->token.size && !o->size) REFUSE(server, "no headers");
	if (o->size <= MAX_HEADERS && size <= MAX_BYTES) return true;
	begin_printed(server);
	put_number(o->size);
	PUT(" headers of ");
	put_number(size);
	PUT(" bytes; there may be 64 of 32768");
	return end_printed();
}

// parse reads what a command has printed: headers in an object of their own, or flat, as
// Claude Code's headersHelper prints them.
static bool parse(printed *o, piece stdout, int64_t now, piece server) {
	if (same(head(stdout, 3), "\uFEFF", 3)) stdout = tail(stdout, stdout.size - 3);
	if (!read_object(o, stdout, server, nothing) || !read_expiry(o, now, server)) return false;
	piece token = take(o, "token");
	o->token = text(token);
	if (token.size && !o->token.size) REFUSE(server, "a \\\"token\\\" that is no text or an empty one");
	piece headers = take(o, "headers");
	if (headers.size && o->size) REFUSE(server, "a key beside \\\"headers\\\" other than token, expires_at and expires_in");
	if (headers.size && !read_object(o, headers, server, PIECE("in \\\"headers\\\" "))) return false;
	return read_headers(o, server) && check(o, server);
}

// was_refused reports whether this is what the server has just refused.
static bool was_refused(const printed *o, piece refused) {
	if (!refused.size) return false;
	if (o->token.size) return equal(o->token, refused);
	for (uint32_t i = 0; i < o->size; i++) {
		piece value = o->fields[i].value, token = value;
		if (!like(o->fields[i].key, AUTHORIZATION)) continue;
		for (; token.size && token.at[0] != ' '; token = tail(token, token.size - 1));
		return equal(value, refused) || (token.size && equal(tail(token, token.size - 1), refused));
	}
	return false;
}

// give gives what was printed as the host wants it.
static void give(const printed *o) {
	begin();
	PUT("credentials\",\"credentials\":{");
	if (o->token.size && !o->size) {
		PUT("\"scheme\":\"Bearer\",\"token\":");
		put_text(o->token);
	} else {
		PUT("\"headers\":{");
		for (uint32_t i = 0; i < o->size; i++) {
			if (i) put(',');
			put_text(o->fields[i].key);
			put(':');
			put_text(o->fields[i].value);
		}
		if (o->token.size) {
			PUT(",\"Authorization\":\"Bearer ");
			put_text_part(o->token);
			put('"');
		}
		put('}');
	}
	if (o->expires && o->at.ms > 0) {
		PUT(",\"expires_at\":");
		put_number(o->at.ms);
	}
	done();
}

// is_legible tells what cannot move a cursor. c is a character in UTF-8.
static bool is_legible(uint32_t c) {
	return !(c < ' ' || (c >= 0x7F && c < 0xA0) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069));
}

// legible takes what could move a cursor out of the last line that is not blank.
static piece legible(piece stderr) {
	while (stderr.size && (is_blank(stderr.at[stderr.size - 1]) || stderr.at[stderr.size - 1] == '\r' || stderr.at[stderr.size - 1] == '\n'))
		stderr.size--;
	for (uint32_t i = stderr.size; i > 0; i--)
		if (stderr.at[i - 1] == '\n') { stderr = tail(stderr, stderr.size - i); break; }
	uint32_t from = texts_size;
	for (uint32_t i = 0, n; i < stderr.size; i += n) {
		uint8_t first = (uint8_t)stderr.at[i];
		n = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
		uint32_t c = first < 0x80 ? first : first & (0x7Fu >> n);
		for (uint32_t j = 1; j < n && i + j < stderr.size; j++) c = c << 6 | ((uint8_t)stderr.at[i + j] & 0x3F);
		if (is_legible(c)) text_rune(c);
	}
	if (texts_size > MAX_TEXTS) return nothing;
	return trimmed((piece){texts + from, texts_size - from});
}

// exited repeats what the command said last. A program that has no network and one whose
// login is gone end alike, so this is worth another try.
static void exited(piece server, piece code, piece said) {
	begin_fail("retry");
	PUT("the command of ");
	put_text_part(server);
	PUT(" ended with exit code ");
	put_piece(code);
	piece last = legible(said);
	if (last.size) PUT(": ");
	uint32_t size = last.size <= MAX_LAST ? last.size : MAX_LAST;
	if (size < last.size)
		while (size && ((uint8_t)last.at[size] & 0xC0) == 0x80) size--; // a character is not cut
	put_text_part(head(last, size));
	if (size < last.size) PUT("…");
	HINT("run the command by hand to see what it needs");
	end_fail();
}

// unrun says why the command has not come to its end.
static void unrun(piece server, piece problem) {
	piece code = text(member(problem, "code"));
	bool missing = IS(code, "unavailable") || IS(code, "refused");
	if (missing) begin_fail("config");
	else begin_fail("retry");
	PUT("the command of ");
	put_text_part(server);
	PUT(": ");
	put_text_part(text(member(problem, "text")));
	if (missing) HINT("write auth = { provider = \\\"helper\\\", command = [\\\"program\\\", \\\"argument\\\"] } with a program that can be found");
	end_fail();
}

static void ran(piece start, piece run, int64_t now) {
	printed *o = &output_of;
	piece server = text(member(member(start, "server"), "name")), code = member(run, "code");
	if (!IS(code, "0")) {
		exited(server, code, text(member(run, "stderr")));
		return;
	}
	if (!parse(o, text(member(run, "stdout")), now, server)) return;
	if (o->expires && (o->at.ms < now || (o->at.ms == now && !o->at.more))) {
		begin_fail("retry");
		PUT("the command of ");
		put_text_part(server);
		PUT(" printed credentials that expired at ");
		put_time(o->at.ms);
		HINT("see whether the command keeps what it should renew, and whether the clock is right");
		end_fail();
	} else if (was_refused(o, text(member(member(start, "challenge"), "token")))) {
		begin_fail("config");
		PUT("the server ");
		put_text_part(server);
		PUT(" does not take what the command printed, and it printed the same again");
		HINT("see whether the command still has a login that is valid");
		end_fail();
	} else {
		give(o);
	}
}

static void started(piece start) {
	piece server = text(member(member(start, "server"), "name"));
	if (!IS(text(member(start, "reason")), "logout")) {
		PUT("{\"state\":{\"start\":");
		put_piece(start);
		PUT("},\"actions\":[{\"kind\":\"run\"}]}");
		return;
	}
	begin_fail("config");
	PUT("the command of ");
	put_text_part(server);
	PUT(" signs in each time: there is nothing to sign out of");
	HINT("remove the auth of ");
	put_text_part(server);
	PUT(", or sign out with what the command is part of");
	end_fail();
}

static bool is_object(piece p) { return p.size && p.at[0] == '{'; }

// take_step answers one call, and reports whether it is one of this contract.
static bool take_step(piece call) {
	piece event = member(call, "event"), kind = text(member(event, "kind"));
	if (IS(kind, "start")) {
		piece start = member(event, "start");
		if (is_object(start)) started(start);
		return is_object(start);
	}
	piece start = member(member(call, "state"), "start"), problem = member(event, "problem"), run = member(event, "run");
	if (!IS(kind, "run_result") || !is_object(start)) return false;
	if (is_object(problem)) unrun(text(member(member(start, "server"), "name")), problem);
	else if (is_object(run)) ran(start, run, number(member(event, "now")));
	return is_object(problem) || is_object(run);
}

EXPORT(wharf_auth_describe) int32_t wharf_auth_describe(void) {
	output_size = 0;
	PUT(manifest);
	return reply();
}

EXPORT(wharf_auth_step) int32_t wharf_auth_step(void) {
	output_size = texts_size = 0;
	bool ours = take_step(whole((piece){input.bytes, receive()}));
	if (ours && output_size <= MAX_REPLY && texts_size <= MAX_TEXTS) return reply();
	output_size = 0;
	PUT("the call is not of this contract, or larger than this provider can answer");
	return broken();
}
