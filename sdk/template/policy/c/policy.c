// pigeon is a policy for Wharf: a person is asked about each tool that may destroy something.
// README.md says how to build, test and use it, and what to change first.
#include "json.h"

// A table whose settings are others is refused. A policy that decides by the arguments of calls has
// "arguments":true here, and its table arguments = true.
static const char manifest[] =
	"{\"abi\":\"wharf-policy-0\",\"name\":\"pigeon\",\"version\":\"0.1.0\",\"about\":\"asks about tools that may destroy something\","
	"\"settings\":[{\"key\":\"strict\",\"kind\":\"flag\",\"about\":\"denies such tools, so that no person is asked\"}]}";

// say answers the call of an id. A reason is a text in quotes from the call, cut, and what follows it.
static int32_t say(piece id, piece verdict, piece name, piece more) {
	PUT("{\"id\":");
	put_piece(id);
	PUT(",\"verdict\":\"");
	put_piece(verdict);
	if (more.size) {
		PUT("\",\"reason\":\"");
		name = text(name);
		if (name.size > 200) {
			name.size = 200;
			while (name.size && (name.at[name.size] & 0xC0) == 0x80) name.size--; // a character is not cut
		}
		put_text_part(name);
		put_piece(more);
	}
	PUT("\"}");
	return reply();
}

#define WORDS(literal) ((piece){literal, sizeof(literal) - 1})

EXPORT(wharf_policy_describe) int32_t describe(void) {
	output_size = 0;
	PUT(manifest);
	return reply();
}

// It is asked before each call, and about each element of a list ("listed":true). What it denies is not
// listed, and what it traps at is denied. It keeps nothing: another instance may be asked next.
EXPORT(wharf_policy_decide) int32_t decide(void) {
	output_size = texts_size = 0;
	piece call = whole((piece){input.bytes, receive()});
	piece id = member(call, "id"), target = member(call, "target"), name = member(call, "name");
	piece hints = member(call, "annotations");
	if (number(id) < 0) {
		PUT("this is no call");
		return broken();
	}
	if (IS(target, "\"prompt\"") || IS(target, "\"resource\"")) return say(id, WORDS("allow"), nothing, nothing); // they are read
	if (!IS(target, "\"tool\""))
		return say(id, WORDS("deny"), member(call, "method"), WORDS(" is no method of the protocol, so it may destroy something"));
	if (IS(member(hints, "readOnlyHint"), "true") || IS(member(hints, "destructiveHint"), "false"))
		return say(id, WORDS("allow"), nothing, nothing); // so says its server, and nothing proves it
	if (IS(member(member(call, "settings"), "strict"), "true"))
		return say(id, WORDS("deny"), name, WORDS(" may destroy something, and the settings are strict"));
	return say(id, WORDS("ask"), name, WORDS(" may destroy something"));
}
