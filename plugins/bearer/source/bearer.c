// The auth provider for a token that the user already has. The host looks it up where the
// configuration says; all that is left to do is to say where in a request it goes. The
// contract is package step; the twin in Go, examples/auth-bearer, is the one to read. Each
// flow is one step: the start comes in, and what is given or a failure goes out.
#include "credential.h"

static const char manifest[] =
	"{\"abi\":\"wharf-auth-0\",\"name\":\"bearer\",\"version\":\"0.1.0\",\"about\":\"a token out of the configuration\","
	"\"settings\":["
	"{\"key\":\"token\",\"about\":\"the token\",\"required\":true,\"secret\":true},"
	"{\"key\":\"header\",\"about\":\"the header that it goes in; Authorization if it is not said\"},"
	"{\"key\":\"scheme\",\"about\":\"the word before it; Bearer in Authorization and none in another header, \\\"\\\" for none\"}],"
	"\"wants\":{\"material\":true}}";

// What the auth table says. A scheme that is "" is not one that is left out.
typedef struct {
	piece token, header, scheme;
	bool schemed;
} settings;

// wrong begins the message of a failure for what the configuration says.
static void wrong(piece server) {
	begin_fail("config");
	PUT("auth of ");
	put_text_part(server);
	PUT(": ");
}

#define WRONG(server, why) (wrong(server), PUT(why), end_fail())

// put_quoted writes what the user has written into a message.
static void put_quoted(piece p) { PUT("\\\""); put_text_part(p); PUT("\\\""); }

// element returns the next element of a list, at whose beginning or comma c is, or nothing.
static piece element(cursor *c) {
	char at = peek_past_space(c);
	if (at != '[' && at != ',') return nothing;
	c->at++;
	peek_past_space(c);
	piece value = {c->at, 0};
	skip(c, 0);
	value.size = (uint32_t)(c->at - value.at);
	return value;
}

#define EMPTY "the token is empty: see what the place that auth.token names has in it"

// give_material gives the token for each variable of a process, or for a stream.
static void give_material(const settings *s, piece server, piece variables, bool blob) {
	if (!s->token.size) {
		WRONG(server, EMPTY);
		return;
	}
	if (s->header.size || s->schemed) {
		WRONG(server, "header and scheme are for servers with a url: leave them out");
		return;
	}
	begin();
	PUT("material\",\"material\":{");
	if (blob) { PUT("\"blob\":"); put_base64(s->token); }
	cursor c = {variables.at, variables.at + variables.size};
	piece name = element(&c);
	if (blob && name.size) put(',');
	if (name.size) PUT("\"env\":{");
	for (bool more = name.size; more; more = name.size) {
		put_text(text(name));
		put(':');
		put_text(s->token);
		name = element(&c);
		put(name.size ? ',' : '}');
	}
	done();
}

static void wrong_header(piece name, piece server, fault f) {
	wrong(server);
	PUT("header = ");
	put_quoted(name);
	PUT(": ");
	put_fault(f);
	end_fail();
}

// give_credentials puts the token into a header. A bearer token in the sense of RFC 6750
// is given as one, so that the host knows which part of the header is the secret.
static void give_credentials(settings *s, piece server) {
	if (!s->header.size) s->header = PIECE("Authorization");
	bool authorization = like(s->header, PIECE("Authorization"));
	if (!s->schemed && authorization) s->scheme = PIECE("Bearer");
	if (!s->token.size) {
		WRONG(server, EMPTY);
		return;
	}
	uint32_t n = s->scheme.size;
	if (n && s->token.size > n && like(head(s->token, n), s->scheme) && s->token.at[n] == ' ') {
		wrong(server);
		PUT("the token begins with ");
		put_quoted(s->scheme);
		PUT(", which is put before it: leave it out, or write scheme = \\\"\\\"");
		end_fail();
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (s->scheme.at[i] != ' ' && s->scheme.at[i] != '\t') continue;
		wrong(server);
		PUT("scheme is one word, ");
		put_quoted(s->scheme);
		PUT(" has a space in it");
		end_fail();
		return;
	}
	piece word = trimmed_left(s->scheme);
	fault name = name_fault(s->header), value = has_control(word) ? value_fault(word) : value_fault(s->token);
	if (name.before.size || value.before.size) {
		wrong_header(s->header, server, name.before.size ? name : value);
		return;
	}
	begin();
	PUT("credentials\",\"credentials\":{");
	if (authorization && same(s->scheme, "Bearer", 6)) {
		PUT("\"scheme\":\"Bearer\",\"token\":");
		put_text(s->token);
		done();
		return;
	}
	PUT("\"headers\":{");
	put_text(s->header);
	PUT(":\"");
	put_text_part(word);
	if (word.size) put(' ');
	put_text_part(s->token);
	PUT("\"}");
	done();
}

// read reads a setting that is a text, or nothing, and reports whether it is.
static bool read(piece value, piece *into) {
	*into = text(value);
	return !value.size || value.at[0] == '"' || IS(value, "null");
}

// give gives the token in the way that the server takes: in a header, or as it is.
static void give(piece table, piece server_entry, piece server) {
	settings s;
	piece scheme = member(table, "scheme"), variables = member(server_entry, "variables");
	if (!read(member(table, "token"), &s.token) || !read(member(table, "header"), &s.header) || !read(scheme, &s.scheme)) {
		WRONG(server, "settings: token, header and scheme are texts");
		return;
	}
	s.schemed = scheme.size && scheme.at[0] == '"';
	s.token = trimmed(s.token);
	bool blob = IS(member(server_entry, "blob"), "true");
	if (blob || element(&(cursor){variables.at, variables.at + variables.size}).size) give_material(&s, server, variables, blob);
	else give_credentials(&s, server);
}

// sign_in gives the token, and nothing in its place: a user who has written a token down
// means that one, so a server that refuses it is a mistake to be told of.
static void sign_in(piece start) {
	piece reason = text(member(start, "reason")), entry = member(start, "server"), server = text(member(entry, "name"));
	bool refused = IS(reason, "challenged"), short_of = IS(reason, "upscope");
	if (!refused && !short_of && !IS(reason, "login") && !IS(reason, "logout")) {
		give(member(start, "settings"), entry, server);
		return;
	}
	begin_fail("config");
	if (refused) {
		PUT("the server ");
		put_text_part(server);
		PUT(" does not take the token that is configured for it\",\"hint\":\"put a token that is valid where auth.token of ");
		put_text_part(server);
		PUT(" leads, or write auth = \\\"oauth\\\" to sign in another way");
	} else if (short_of) {
		PUT("the token that is configured for ");
		put_text_part(server);
		PUT(" does not allow what was asked\",\"hint\":\"put a token with more rights where auth.token of ");
		put_text_part(server);
		PUT(" leads");
	} else {
		PUT("the server ");
		put_text_part(server);
		PUT(" has a token in its configuration: there is nothing to sign in to or out of\",\"hint\":\"change or remove the auth of ");
		put_text_part(server);
		PUT("; write auth = \\\"oauth\\\" to sign in another way");
	}
	end_fail();
}

EXPORT(wharf_auth_describe) int32_t wharf_auth_describe(void) {
	output_size = 0;
	PUT(manifest);
	return reply();
}

EXPORT(wharf_auth_step) int32_t wharf_auth_step(void) {
	output_size = texts_size = 0;
	piece event = member(whole((piece){input.bytes, receive()}), "event"), start = member(event, "start");
	if (IS(text(member(event, "kind")), "start") && peek(&(cursor){start.at, start.at + start.size}) == '{') {
		sign_in(start);
		if (output_size <= MAX_REPLY && texts_size <= MAX_TEXTS) return reply();
		output_size = 0;
	}
	PUT("the call is no start of this contract, or larger than this provider can answer");
	return broken();
}
