// What we send. Each frame is masked with a key of its own, so that what a server or a
// proxy on the way sees is not the client's to choose (section 10.3); that is why these
// bytes pass through the guest at all.
#define WHARF_NO_MARKER
#include "websocket.h"

// FRAGMENT is the longest payload of a frame that we send. A longer message goes out in
// several, so that none of them is ever whole in this memory. LONGEST_HEAD is the head of a
// masked frame whose length takes two bytes, which is enough for a fragment.
enum { FRAGMENT = 16 << 10, LONGEST_HEAD = 2 + 2 + 4 };

static uint8_t out[LONGEST_HEAD + FRAGMENT];

// The body of a frame stands behind the longest head, so that the shorter one fits in
// front of it as well.
static uint8_t *const body = out + LONGEST_HEAD;

// fill asks the host for randomness, each time anew: what a mask is good for depends on
// the next one being impossible to guess.
__attribute__((import_module("wasi_snapshot_preview1"), import_name("random_get"))) extern uint32_t random_get(void *to, uint32_t len);

// mask does what undoes itself (section 5.3), eight bytes at a time: it is most of what a
// long message costs.
static void mask(uint32_t len, const uint8_t *key) {
	uint64_t twice = (uint64_t)wharf_u32(key) << 32 | wharf_u32(key);
	uint32_t i = 0;
	for (; i + 8 <= len; i += 8) {
		uint64_t word;
		__builtin_memcpy(&word, body + i, sizeof word);
		word ^= twice;
		__builtin_memcpy(body + i, &word, sizeof word);
	}
	for (; i < len; i++) body[i] ^= key[i % 4];
}

// send_frame masks the body, puts the head in front of it and queues both.
static int32_t send_frame(uint8_t first, uint32_t len) {
	uint8_t *key = body - 4, *start = key - 2;
	if (random_get(key, 4) != 0) __builtin_trap(); // the host has no randomness
	if (len < EXTENDED16) {
		start[1] = (uint8_t)(MASKED | len);
	} else {
		start -= 2;
		start[1] = MASKED | EXTENDED16;
		start[2] = (uint8_t)(len >> 8);
		start[3] = (uint8_t)len;
	}
	start[0] = first;
	mask(len, key);
	return wharf_write(socket.handle, start, (uint32_t)(body - start) + len, WHARF_MORE);
}

int32_t send_text(uint32_t off, uint32_t len) {
	for (uint8_t op = TEXT;; op = CONTINUATION) {
		uint32_t n = len < FRAGMENT ? len : FRAGMENT;
		if (n > 0) wharf_take(off, body, n);
		off += n;
		len -= n;
		int32_t status = send_frame(len == 0 ? op | FINAL : op, n);
		if (len == 0 || status < 0) return status;
	}
}

void send_control(uint8_t op, const uint8_t *payload, uint32_t len) {
	for (uint32_t i = 0; i < len; i++) body[i] = payload[i];
	send_frame(op | FINAL, len);
}

void send_close(uint16_t code) {
	const uint8_t payload[] = {(uint8_t)(code >> 8), (uint8_t)code};
	send_control(CLOSE, payload, sizeof payload);
}
