#include "report.h"

static void report(uint32_t what, uint32_t exchange) { wharf_report(what, exchange, WHARF_OK, 0, 0); }

void report_up(void) { report(WHARF_UP, 0); }

void report_ended(void) { report(WHARF_ENDED, 0); }

void report_done(uint32_t exchange) { report(WHARF_DONE, exchange); }

void report_expired(uint32_t exchange) { report(WHARF_EXPIRED, exchange); }

void report_failed(uint32_t exchange, int32_t status, text why) {
	wharf_report(WHARF_FAILED, exchange, status, why.bytes, why.len);
}

wharf_block sentence(void) {
	static uint8_t bytes[WORDS + 512];
	return (wharf_block){bytes, sizeof bytes, 0};
}

// The names of the statuses, from 0 down.
static const char *const statuses[] = {
	"OK", "DENIED", "UNAVAILABLE", "MALFORMED", "LIMIT", "CLOSED", "NOT_FOUND", "UNREACHABLE", "TIMED_OUT", "RESET",
	"PROTOCOL", "TOO_LARGE", "STALLED", "INTERNAL", "REFUSED", "UNAUTHORIZED",
};

void put_status(wharf_block *b, int32_t status) {
	uint32_t n = -(uint32_t)status;
	if (n < sizeof statuses / sizeof *statuses) {
		wharf_put_text(b, statuses[n]);
		return;
	}
	wharf_put_text(b, "status(-"); // what is refused is below zero
	put_decimal(b, n);
	wharf_put(b, ')');
}
