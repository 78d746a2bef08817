#include "session.h"
#include "memory.h"

static struct {
	wharf_block id, version;
	uint32_t epoch;
	uint32_t gone; // epoch, once the server has forgotten the session
} session;

// The first revision without sessions, listeners and resumption.
static const char modern[] = "2026-07-28";
enum { MODERN = sizeof modern - 1 };

text session_id(void) { return kept(&session.id); }

text session_version(void) { return kept(&session.version); }

// is_legacy reports whether a version is one of the era that has sessions: versions are
// dates, and compared like words.
static bool is_legacy(text version) {
	for (uint32_t i = 0; i < version.len && i < MODERN; i++) {
		if (version.bytes[i] != (uint8_t)modern[i]) return version.bytes[i] < (uint8_t)modern[i];
	}
	return version.len > 0 && version.len < MODERN;
}

bool session_lives(uint32_t epoch) { return epoch == session.epoch && epoch > session.gone; }

bool session_lost(uint32_t epoch, text version) {
	return epoch > 0 && epoch <= session.epoch && !session_lives(epoch) && is_legacy(version);
}

bool session_meet(uint32_t epoch, text version) {
	if (epoch == 0 || epoch != session.epoch || !is_legacy(version)) return false;
	if (!same(version, session_version())) keep(&session.version, version);
	return true;
}

bool session_begin(uint32_t epoch, text id) {
	session.epoch = epoch, session.gone = 0, session.version.len = 0;
	return keep(&session.id, id);
}

bool session_forget(uint32_t epoch) {
	if (!session_lives(epoch)) return false;
	session.gone = epoch, session.id.len = 0;
	return true;
}

// put_line writes a line of the state, unless its value is empty.
static void put_line(wharf_block *b, text name, text value) {
	if (value.len == 0) return;
	put_bytes(b, name);
	put_bytes(b, value);
	wharf_put(b, '\n');
}

void session_save(text last) {
	static wharf_block state;
	state.len = 0;
	if (!reserve(&state, session.id.len + last.len + 64)) return;
	wharf_put_text(&state, "epoch ");
	put_decimal(&state, session.epoch);
	wharf_put(&state, '\n');
	put_line(&state, TEXT("session "), kept(&session.id));
	put_line(&state, TEXT("last "), last);
	wharf_save(state.bytes, state.len);
}

// read_decimal reads digits alone, of a number that fits.
static bool read_decimal(text t, uint32_t *number) {
	uint64_t n = 0;
	for (uint32_t i = 0; i < t.len; i++) {
		if (t.bytes[i] < '0' || t.bytes[i] > '9' || (n = n * 10 + t.bytes[i] - '0') > UINT32_MAX) return false;
	}
	if (t.len > 0) *number = (uint32_t)n;
	return t.len > 0;
}

text session_restore(text state) {
	text last = {0, 0};
	while (state.len > 0) {
		text value = cut(&state, '\n'), name = cut(&value, ' ');
		if (same(name, TEXT("epoch"))) {
			read_decimal(value, &session.epoch);
		} else if (same(name, TEXT("session"))) {
			keep(&session.id, value);
		} else if (same(name, TEXT("last"))) {
			last = value;
		}
	}
	return last;
}
