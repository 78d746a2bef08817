package hostio

import (
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// An answer may say how long to wait, in seconds or by a date. What means nothing, or no time that a person
// would wait, is as if it were not there.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		status int
		value  string
		text   string // "" is none
	}{
		{429, "3600", "1 h"},
		{503, " 90 ", "1 min 30 s"},
		{429, "1", "1 s"},
		{429, "90061", "1 d 1 h 1 min 1 s"},
		{429, "Sat, 01 Aug 2026 12:05:00 GMT", "5 min"},
		{429, "Saturday, 01-Aug-26 12:00:30 GMT", "30 s"},
		{429, "2678400", "31 d"},
		{200, "3600", ""}, {500, "3600", ""}, {401, "3600", ""}, {301, "3600", ""},
		{429, "", ""}, {429, "0", ""}, {429, "-1", ""}, {429, "+5", ""}, {429, "1.5", ""}, {429, "soon", ""}, {429, "1h", ""},
		{429, "0x10", ""}, {429, "1_000", ""}, {429, "2678401", ""}, {429, "4294967295", ""},
		{429, "9223372036854775807", ""}, {429, "99999999999999999999999999", ""}, {429, strings.Repeat("9", 1<<16), ""},
		{429, "Sat, 01 Aug 2026 12:00:00 GMT", ""}, {429, "Thu, 01 Jan 1970 00:00:00 GMT", ""}, {429, "Fri, 31 Dec 9999 23:59:59 GMT", ""},
		{429, "2026-08-01T12:05:00Z", ""}, {429, "\u202e5", ""},
	} {
		wait := RetryAfter(c.status, []abi.Pair{{Key: "content-type", Value: "7"}, {Key: "retry-after", Value: c.value}}, func() time.Time { return now })
		text := AskedWait(wait)
		if c.text == "" && (wait != 0 || text != "") || c.text != "" && text != "; the server asks to wait "+c.text {
			t.Errorf("%d, %.40q: %v, %q", c.status, c.value, wait, text)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("3600")
	f.Add("Sat, 01 Aug 2026 12:05:00 GMT")
	f.Fuzz(func(t *testing.T, value string) {
		wait := RetryAfter(503, []abi.Pair{{Key: "retry-after", Value: value}}, time.Now)
		if wait < 0 || wait > longestWait || len(AskedWait(wait)) > 60 {
			t.Errorf("%q: %v", value, wait)
		}
	})
}
