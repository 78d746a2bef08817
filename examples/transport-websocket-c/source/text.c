#define WHARF_NO_MARKER
#include "websocket.h"
#include "hidden.h"

// is_plain reports whether eight bytes are ASCII.
static bool is_plain(const uint8_t *bytes) {
	uint64_t word;
	__builtin_memcpy(&word, bytes, sizeof word);
	return (word & 0x8080808080808080) == 0;
}

// utf8_begin takes the first byte of a character, and says what may follow it (Unicode,
// table 3-7).
static bool utf8_begin(utf8_check *check, uint8_t c) {
	if (c < 0x80) return true;
	if (c < 0xC2 || c > 0xF4) return false;
	check->missing = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
	check->least = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
	check->most = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
	return true;
}

bool utf8_add(utf8_check *check, const uint8_t *bytes, uint32_t len) {
	for (uint32_t i = 0; i < len;) {
		if (check->missing == 0 && i + 8 <= len && is_plain(bytes + i)) {
			i += 8;
			continue;
		}
		uint8_t c = bytes[i++];
		if (check->missing == 0) {
			if (!utf8_begin(check, c)) return false;
			continue;
		}
		if (c < check->least || c > check->most) return false;
		check->missing--;
		check->least = 0x80;
		check->most = 0xBF;
	}
	return true;
}

void put_decimal(wharf_block *b, uint32_t n) {
	if (n >= 10) put_decimal(b, n / 10);
	wharf_put(b, (uint8_t)('0' + n % 10));
}

// character returns how many bytes the character at the beginning of some bytes has, and its
// number: 0xFFFD, and one byte, where they are no UTF-8.
static uint32_t character(const uint8_t *bytes, uint32_t len, uint32_t *number) {
	utf8_check check = {0, 0, 0};
	uint32_t n = 1;
	*number = 0xFFFD;
	if (!utf8_add(&check, bytes, 1) || check.missing >= len) return 1;
	uint32_t value = check.missing == 0 ? bytes[0] : bytes[0] & (0x3F >> check.missing);
	while (check.missing > 0) {
		if (!utf8_add(&check, bytes + n, 1)) return 1;
		value = value << 6 | (bytes[n++] & 0x3F);
	}
	*number = value;
	return n;
}

static bool is_gap(uint32_t number, bool folds) {
	return number == ' ' || (folds && (number == '\n' || number == '\r' || number == '\t'));
}

void put_line(wharf_block *b, const char *before, const uint8_t *bytes, uint32_t len, bool folds) {
	uint32_t gaps = 0; // behind the last word
	for (uint32_t i = 0, n, number; i < len; i += n) {
		n = character(bytes + i, len - i, &number);
		if (is_gap(number, folds)) {
			gaps++;
			continue;
		}
		if (wharf_hidden(number)) continue;
		wharf_put_text(b, before);
		if (*before == 0)
			for (; gaps > 0; gaps = folds ? 0 : gaps - 1) wharf_put(b, ' ');
		gaps = 0;
		before = "";
		for (uint32_t k = 0; k < n; k++) wharf_put(b, bytes[i + k]);
	}
}
