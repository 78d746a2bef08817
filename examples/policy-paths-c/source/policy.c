// A policy that keeps the paths in the arguments of tools within a folder. The contract is package verdict. It
// cannot look at the disk: it compares texts, so a link within the folder still leads out of it.
#include "json.h"

static const char manifest[] =
	"{\"abi\":\"wharf-policy-0\",\"name\":\"paths\",\"version\":\"0.1.0\",\"about\":\"keeps paths within a folder\","
	"\"arguments\":true,\"settings\":["
	"{\"key\":\"folder\",\"about\":\"the folder: a whole path\",\"required\":true},"
	"{\"key\":\"names\",\"kind\":\"list\",\"about\":\"the arguments that are paths, whatever they look like; path if it is not said\"}]}";

static piece id, folder, names;

static void say(const char *verdict, uint32_t size) {
	PUT("{\"id\":");
	put_piece(id);
	PUT(",\"verdict\":\"");
	put_piece((piece){verdict, size});
	put('"');
}

#define SAY(verdict) say(verdict, sizeof(verdict) - 1)

static int32_t allow(void) {
	SAY("allow");
	put('}');
	return reply();
}

static int32_t deny(piece what) {
	SAY("deny");
	PUT(",\"reason\":\"");
	put_text_part((piece){what.at, what.size < 200 ? what.size : 200});
	PUT(" is not a whole path within ");
	put_text_part(folder);
	PUT("\"}");
	return reply();
}

static bool begins(piece p, piece with) { return p.size >= with.size && same((piece){p.at, with.size}, with.at, with.size); }

// climbs reports whether a path has a segment "..", with either kind of slash.
static bool climbs(piece p) {
	uint32_t from = 0;
	for (uint32_t i = 0; i <= p.size; i++) {
		if (i < p.size && p.at[i] != '/' && p.at[i] != '\\') continue;
		if (i - from == 2 && p.at[from] == '.' && p.at[from + 1] == '.') return true;
		from = i + 1;
	}
	return false;
}

static bool within(piece p) {
	return folder.size && begins(p, folder) && (p.size == folder.size || p.at[folder.size] == '/') && !climbs(p);
}

// is_path reports whether a text may be taken for a path that leads somewhere else.
static bool is_path(piece p) {
	return (p.size && (p.at[0] == '/' || p.at[0] == '~' || p.at[0] == '\\')) || begins(p, (piece){"file:", 5}) || climbs(p) ||
		(p.size > 1 && p.at[1] == ':' && (p.at[0] | 32) >= 'a' && (p.at[0] | 32) <= 'z');
}

// element returns the next element of a list, or member of an object, at whose beginning or comma c is, and the
// name of a member; nothing at the end.
static piece element(cursor *c, piece *name) {
	char at = peek_past_space(c);
	if (at != '[' && at != '{' && at != ',') return nothing;
	c->at++;
	if (name && peek_past_space(c) == '"') {
		name->at = c->at;
		skip_text(c);
		name->size = (uint32_t)(c->at - name->at);
		peek_past_space(c);
		c->at++; // the colon
	}
	peek_past_space(c);
	piece value = {c->at, 0};
	skip(c, 0);
	value.size = (uint32_t)(c->at - value.at);
	return value;
}

// is_named reports whether the user says that an argument is a path. Names are compared as they are written.
static bool is_named(piece name) {
	if (!names.size) return IS(name, "\"path\"");
	cursor c = {names.at, names.at + names.size};
	for (piece n; (n = element(&c, 0)).size;)
		if (equal(n, name)) return true;
	return false;
}

// stray returns the first text of a value that is a path and not within the folder, or nothing. named says that
// each text of it is a path.
static piece stray(piece value, bool named) {
	if (value.size && value.at[0] == '"') {
		piece t = text(value);
		bool unread = value.size > 2 && !t.size;
		return unread || ((named || is_path(t)) && !within(t)) ? (piece){value.at + 1, value.size - 2} : nothing;
	}
	if (!value.size || (value.at[0] != '{' && value.at[0] != '[')) return nothing;
	cursor c = {value.at, value.at + value.size};
	piece name = nothing, found = nothing;
	for (piece v; !found.at && (v = element(&c, value.at[0] == '{' ? &name : 0)).size;)
		found = stray(v, named || is_named(name));
	return found;
}

EXPORT(wharf_policy_describe) int32_t describe(void) {
	output_size = 0;
	PUT(manifest);
	return reply();
}

EXPORT(wharf_policy_decide) int32_t decide(void) {
	output_size = texts_size = 0;
	piece call = whole((piece){input.bytes, receive()});
	id = member(call, "id");
	piece settings = member(call, "settings"), target = member(call, "target");
	folder = text(member(settings, "folder"));
	names = member(settings, "names");
	while (folder.size > 1 && folder.at[folder.size - 1] == '/') folder.size--;
	piece raw = nothing, arguments = member(call, "arguments"), completed = member(arguments, "argument");
	if (IS(member(call, "listed"), "true")) return allow();
	if (IS(member(call, "method"), "\"completion/complete\"")) {
		raw = stray(member(completed, "value"), is_named(member(completed, "name")));
		if (raw.at) return deny(raw);
	}
	if (IS(target, "\"tool\"") || IS(target, "\"prompt\"")) {
		raw = stray(arguments, false);
	} else if (IS(target, "\"resource\"")) {
		piece uri = text(member(call, "name")), path = {uri.at + 7, uri.size - 7};
		if (begins(uri, (piece){"file:", 5})) {
			for (uint32_t i = 0; i < uri.size; i++)
				if (uri.at[i] == '%') return deny(uri); // an escape
			if (!begins(uri, (piece){"file:///", 8}) || !within(path)) raw = uri;
		}
	} else {
		raw = text(member(call, "method"));
	}
	return raw.at ? deny(raw) : allow();
}
