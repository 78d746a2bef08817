#define WHARF_NO_MARKER
#include "websocket.h"

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

// Characters that show nothing, or move what stands beside them: controls, spaces of all
// kinds, formats, and those of private use. What lies between two that no standard has
// given a meaning is counted with them.
static const struct {
	uint32_t from, to;
} hidden[] = {
	{0x00, 0x20}, {0x7F, 0xA0}, {0xAD, 0xAD}, {0x600, 0x605}, {0x61C, 0x61C}, {0x6DD, 0x6DD}, {0x70F, 0x70F},
	{0x890, 0x891}, {0x8E2, 0x8E2}, {0x1680, 0x1680}, {0x180E, 0x180E}, {0x2000, 0x200F}, {0x2028, 0x202F},
	{0x205F, 0x206F}, {0x3000, 0x3000}, {0xE000, 0xF8FF}, {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFB}, {0xFFFD, 0xFFFD},
	{0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
	{0xE0000, 0xE007F}, {0xF0000, 0x10FFFF},
};

static bool is_hidden(uint32_t number) {
	for (uint32_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
		if (number <= hidden[i].to) return number >= hidden[i].from;
	}
	return false;
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
		if (is_hidden(number)) continue;
		wharf_put_text(b, before);
		if (*before == 0)
			for (; gaps > 0; gaps = folds ? 0 : gaps - 1) wharf_put(b, ' ');
		gaps = 0;
		before = "";
		for (uint32_t k = 0; k < n; k++) wharf_put(b, bytes[i + k]);
	}
}
