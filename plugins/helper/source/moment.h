// Times, as programs print them.
#ifndef MOMENT_H
#define MOMENT_H

#include "strict.h"

// Seconds; what is later are milliseconds, or nonsense.
#define MAX_MOMENT 100000000000LL

// A moment is milliseconds of Unix time, and whether there is more of one.
typedef struct { int64_t ms; bool more; } moment;

// real reads a number of JSON. It is exact up to 15 digits.
static inline double real(piece p) {
	double n = 0;
	int scale = 0, exponent = 0;
	bool negative = false, down = false, behind = false;
	uint32_t i = 0;
	if (p.size && p.at[0] == '-') negative = true, i++;
	for (; i < p.size && (is_digit(p.at[i]) || p.at[i] == '.'); i++) {
		if (p.at[i] == '.') { behind = true; continue; }
		if (n < 1e17) n = n * 10 + (p.at[i] - '0'), scale -= behind;
		else scale += !behind;
	}
	if (i < p.size) i++; // the e
	if (i < p.size && !is_digit(p.at[i])) down = p.at[i++] == '-';
	for (; i < p.size; i++)
		if (exponent < 100000) exponent = exponent * 10 + (p.at[i] - '0');
	scale += down ? -exponent : exponent;
	for (int left = scale < 0 ? -scale : scale; left > 0 && n > 0 && n < 1e300;) { // by what is exact
		double power = 1;
		for (int k = 0; k < 22 && left > 0; k++, left--) power *= 10;
		n = scale < 0 ? n / power : n * power;
	}
	return negative ? -n : n;
}

// seconds reads a number above zero; it is -1 for anything else.
static inline double seconds(piece p) {
	double n = p.size && (p.at[0] == '-' || is_digit(p.at[0])) ? real(p) : -1;
	return n > 0 && n < 1e300 ? n : -1;
}

// days returns those from 1970 to a day (of the calendar that is used now, backwards too).
static inline int64_t days(int64_t year, int64_t month, int64_t day) {
	year -= month <= 2;
	int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static inline int64_t month_length(int64_t year, int64_t month) {
	return month == 12 ? 31 : days(year, month + 1, 1) - days(year, month, 1);
}

// fixed reads n digits and the sign after them, 0 for none; it is -1 if they are not there.
static inline int64_t fixed(cursor *c, int n, char sign) {
	int64_t v = 0;
	for (; n > 0; n--, c->at++) {
		if (!is_digit(peek(c))) return -1;
		v = v * 10 + (*c->at - '0');
	}
	if (sign && peek(c) != sign) return -1;
	c->at += sign != 0;
	return v;
}

// parse_time reads a time as time.Parse reads time.RFC3339, and reports whether it is one.
static inline bool parse_time(piece p, moment *into) {
	cursor c = {p.at, p.at + p.size};
	int64_t year = fixed(&c, 4, '-'), month = fixed(&c, 2, '-'), day = fixed(&c, 2, 'T');
	if (year < 0 || month < 1 || month > 12 || day < 1 || day > month_length(year, month)) return false;
	int64_t hour = fixed(&c, c.end - c.at > 1 && c.at[1] == ':' ? 1 : 2, ':'), minute = fixed(&c, 2, ':'), second = fixed(&c, 2, 0);
	if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return false;
	int64_t nanos = 0, unit = 100000000;
	if ((peek(&c) == '.' || peek(&c) == ',') && c.end - c.at > 1 && is_digit(c.at[1]))
		for (c.at++; is_digit(peek(&c)); c.at++, unit /= 10) nanos += unit * (*c.at - '0');
	int64_t offset = 0;
	char zone = peek(&c);
	if (c.at < c.end) c.at++;
	if (zone == '+' || zone == '-') {
		int64_t h = fixed(&c, 2, ':'), m = fixed(&c, 2, 0);
		if (h < 0 || h > 24 || m < 0 || m > 60) return false;
		offset = (h * 60 + m) * (zone == '+' ? 60 : -60);
	} else if (zone != 'Z') {
		return false;
	}
	int64_t at = days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset;
	*into = (moment){at * 1000 + nanos / 1000000, nanos % 1000000 > 0};
	return c.at == c.end && at > 0 && at < MAX_MOMENT;
}

static inline void put_padded(int64_t n, int digits) {
	int64_t least = 1;
	for (int i = 1; i < digits; i++) least *= 10;
	for (; least > 1 && n < least; least /= 10) put('0');
	put_number(n);
}

// put_time writes a time as RFC 3339 has it, in UTC and without parts of a second.
static inline void put_time(int64_t ms) {
	int64_t at = ms / 1000, day = at / 86400, rest = at % 86400, year = 1970, month = 1;
	while (days(year + 1, 1, 1) <= day) year++;
	while (month < 12 && days(year, month + 1, 1) <= day) month++;
	put_padded(year, 4); put('-');
	put_padded(month, 2); put('-');
	put_padded(day - days(year, month, 1) + 1, 2); put('T');
	put_padded(rest / 3600, 2); put(':');
	put_padded(rest / 60 % 60, 2); put(':');
	put_padded(rest % 60, 2); put('Z');
}

#endif
