// hidden.h: which characters of foreign text a plugin leaves out of what it reports.
#ifndef WHARF_HIDDEN_H
#define WHARF_HIDDEN_H

#include <stdbool.h>
#include <stdint.h>

// Characters that show nothing, or move what stands beside them: controls, spaces of
// all kinds, formats, and those of private use. What lies between two that no standard
// has given a meaning is counted with them.
static const struct {
	uint32_t from, to;
} wharf_hidden_ranges[] = {
	{0x00, 0x20}, {0x7F, 0xA0}, {0xAD, 0xAD}, {0x600, 0x605}, {0x61C, 0x61C}, {0x6DD, 0x6DD}, {0x70F, 0x70F},
	{0x890, 0x891}, {0x8E2, 0x8E2}, {0x1680, 0x1680}, {0x180E, 0x180E}, {0x2000, 0x200F}, {0x2028, 0x202F},
	{0x205F, 0x206F}, {0x3000, 0x3000}, {0xE000, 0xF8FF}, {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFB}, {0xFFFD, 0xFFFD},
	{0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
	{0xE0000, 0xE007F}, {0xF0000, 0x10FFFF},
};

// wharf_hidden reports whether a character is to be left out of a text for people.
static bool wharf_hidden(uint32_t number) {
	for (uint32_t i = 0; i < sizeof wharf_hidden_ranges / sizeof *wharf_hidden_ranges; i++) {
		if (number <= wharf_hidden_ranges[i].to) return number >= wharf_hidden_ranges[i].from;
	}
	return false;
}

#endif
