// An auth provider for Wharf: an API key that a person is asked for once, that is kept
// in the vault, and that goes with each request in a header, or to a server that is a
// stream. README.md says how to build, test and use it, and what to change first.
//
// A provider performs no I/O. Each call of wharf_auth_step brings an event, and the
// answer lists actions; the last of them may await another event, which is the next
// call. What is to be remembered until then goes into the state, which comes back with
// it: here, the start of the flow.
//
//	start initial             → load
//	loaded (nothing)          → done: the server may not want a key, and says so if it does
//	loaded                    → credentials or material, done
//	start challenged or login → prompt
//	input                     → credentials or material, store
//	start logout              → load, locked
//	loaded                    → forget
//	stored                    → done
//
// A server that is a stream cannot say that it wants a key: there, a flow that ends
// without one has Wharf say that a sign-in is missing, and `wharf login` asks.
#include "json.h"

static const char manifest[] =
	"{\"abi\":\"wharf-auth-0\",\"name\":\"pigeon\",\"version\":\"0.1.0\",\"about\":\"an API key, asked for once\","
	"\"settings\":["
	"{\"key\":\"key\",\"about\":\"the key; without it a person is asked, and it is kept in the vault\",\"secret\":true},"
	"{\"key\":\"header\",\"about\":\"the header that it goes in; X-Api-Key if it is not said\"}],"
	"\"wants\":{\"prompt\":true,\"material\":true}}";

// What a step works on: pieces of its input.
typedef struct { piece event, start, server, settings, reason; } step;

// begin writes the state, up to where the actions begin, and end what is behind them.
static void begin(const step *s) { PUT("{\"state\":{\"start\":"); put_piece(s->start); PUT("},\"actions\":["); }
static void end(void) { PUT("]}"); }
static void done(void) { PUT("{\"kind\":\"done\"}"); }

// put_key writes which record of the vault is meant. Other providers have their own. A
// server that has no url has no resource: there, the name of its entry tells it from
// others.
static void put_key(const step *s) {
	piece resource = member(s->server, "resource");
	PUT("\"key\":{\"name\":\"key\",");
	if (resource.size) { PUT("\"resource\":"); put_piece(resource); }
	else { PUT("\"client\":"); put_piece(member(s->server, "name")); }
	PUT("}");
}

// fail ends the flow. The class says who can help: login a person, config the file.
static void fail(const step *s, const char *class, const char *what) {
	PUT("{\"kind\":\"fail\",\"fail\":{\"class\":\"");
	while (*class) put(*class++);
	PUT("\",\"message\":\"");
	while (*what) put(*what++);
	put_text_part(text(member(s->server, "name")));
	PUT("\"}}");
}

// is_word tells what can stand in a header and is no mistake: visible, and one word.
static bool is_word(piece p) {
	for (uint32_t i = 0; i < p.size; i++)
		if (p.at[i] <= ' ' || p.at[i] > '~') return false;
	return p.size > 0;
}

// give says what the server gets from now on, and returns whether it has: its requests
// carry the key in a header, or, where its entry says that it is a stream, the key goes
// there as it is. Wharf puts it there: the transport does not see it, and the provider
// sees no request.
static bool give(const step *s, piece key) {
	piece header = text(member(s->settings, "header")), blob = member(s->server, "blob");
	if (IS(blob, "true")) {
		PUT("{\"kind\":\"material\",\"material\":{\"blob\":");
		put_base64(key);
		PUT("}},");
		return true;
	}
	if (member(s->server, "variables").size) return fail(s, "config", "this provider fills no variables: leave them out of the auth of "), false;
	if (!is_word(key)) return fail(s, "config", "the key holds what cannot stand in a header, that of "), false;
	PUT("{\"kind\":\"credentials\",\"credentials\":{\"headers\":{");
	if (header.size) put_text(header);
	else PUT("\"X-Api-Key\"");
	put(':');
	put_text(key);
	PUT("}}},");
	return true;
}

// ask asks the person, if there is one.
static void ask(const step *s) {
	piece there = member(s->start, "interactive");
	if (!IS(there, "true")) { fail(s, "login", "an API key is wanted by the server "); return; }
	PUT("{\"kind\":\"prompt\",\"prompt\":{\"label\":\"API key of ");
	put_text_part(text(member(s->server, "name")));
	PUT("\",\"secret\":true}}");
}

static void started(const step *s) {
	piece key = text(member(s->settings, "key"));
	if (IS(s->reason, "logout")) { PUT("{\"kind\":\"load\",\"load\":{\"lock\":true,"); put_key(s); PUT("}}"); }
	else if (IS(s->reason, "upscope")) fail(s, "config", "more than the key allows was asked of ");
	else if (key.size && IS(s->reason, "challenged")) fail(s, "config", "the key that is configured is not taken by ");
	else if (key.size) { if (give(s, key)) done(); }
	else if (IS(s->reason, "challenged") || IS(s->reason, "login")) ask(s);
	else { PUT("{\"kind\":\"load\",\"load\":{"); put_key(s); PUT("}}"); }
}

// loaded uses the key that was saved. A vault that does not work is one without a key.
// When the person signs out, what was loaded is forgotten; the lock keeps other
// processes from saving another one in between.
static void loaded(const step *s) {
	piece key = text(member(member(s->event, "record"), "value"));
	if (IS(s->reason, "logout")) { PUT("{\"kind\":\"forget\",\"forget\":{"); put_key(s); PUT("}}"); }
	else if (!key.size || give(s, key)) done();
}

// changed ends the flow: the vault has changed, or has not. A key that is not saved
// costs the person another question the next time; one that is not forgotten they have
// to know of.
static void changed(const step *s) {
	if (IS(s->reason, "logout") && member(s->event, "problem").size) fail(s, "config", "the vault did not forget the key of ");
	else done();
}

// answered takes what the person typed, and saves it.
static void answered(const step *s) {
	piece key = text(member(member(s->event, "input"), "text"));
	if (!key.size) { fail(s, "login", "no API key was given for "); return; }
	if (!give(s, key)) return;
	PUT("{\"kind\":\"store\",\"store\":{");
	put_key(s);
	PUT(",\"value\":");
	put_text(key);
	PUT("}}");
}

// take_step answers one call.
static int32_t take_step(uint32_t size) {
	piece call = whole((piece){input.bytes, size});
	step s = {.event = member(call, "event")};
	piece kind = text(member(s.event, "kind"));
	s.start = member(IS(kind, "start") ? s.event : member(call, "state"), "start");
	s.server = member(s.start, "server");
	s.settings = member(s.start, "settings");
	s.reason = text(member(s.start, "reason"));
	if (!s.start.size) { PUT("the call is not of this contract"); return broken(); }
	begin(&s);
	if (IS(kind, "start")) started(&s);
	else if (IS(kind, "loaded")) loaded(&s);
	else if (IS(kind, "input")) answered(&s);
	else if (IS(kind, "stored")) changed(&s);
	else fail(&s, "config", "this provider is built for another version of Wharf than the one that signs in to ");
	end();
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
