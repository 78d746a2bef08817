package hostio

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// longestWait is the longest wait that an answer can ask for.
const longestWait = 31 * 24 * time.Hour

// dateLayouts are those of a date in a header (RFC 9110, 5.6.7). They are those of [net/http.ParseTime], which
// this package must not import.
var dateLayouts = []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC}

// RetryAfter returns how long an HTTP response asks to wait with the next request, or 0 if it does not. headers
// are those of a [Sink]. A time that is over, that is longer than a month, or that cannot be read asks for
// nothing.
func RetryAfter(status int, headers []abi.Pair, now func() time.Time) time.Duration {
	if status != 429 && status != 503 {
		return 0
	}
	for _, h := range headers {
		if h.Key != "retry-after" {
			continue
		}
		text := strings.TrimSpace(h.Value)
		var wait time.Duration
		if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
			wait = time.Duration(seconds) * time.Second
		}
		for _, layout := range dateLayouts {
			if at, err := time.Parse(layout, text); err == nil {
				wait = at.Sub(now())
			}
		}
		if 0 < wait && wait <= longestWait {
			return wait
		}
	}
	return 0
}

// AskedWait returns what is added to the text of an error if the server asks to wait, and else "".
func AskedWait(wait time.Duration) string {
	if wait <= 0 {
		return ""
	}
	left := (wait + time.Second - 1).Truncate(time.Second)
	var parts []string
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if n := left / unit.size; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, unit.name))
			left -= n * unit.size
		}
	}
	return "; the server asks to wait " + strings.Join(parts, " ")
}
