package config

import (
	"strconv"
	"strings"
	"time"
)

// duration reads a duration in the syntax of Go. It returns a negative duration for 0, to tell
// it from an absent value.
func (e *entry) duration(key string) time.Duration {
	s, ok := e.measure(key, "a duration", secondsOf)
	if !ok || s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil && isNumber(s):
		e.fail(key, "%q is no duration; write %s", s, e.assignment(key, secondsOf(s)))
	case err != nil:
		e.fail(key, `%q is no duration; write "30s", "2m" or "0" for none`, s)
	case d < 0:
		e.fail(key, `%q is negative; write "0" for none`, s)
	case d == 0:
		d = -1
	}
	return d
}

// units are the units of sizes, the longest spelling first.
var units = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}}

// The bounds of a message cap.
const (
	minCap = 1 << 10
	maxCap = 1 << 30
)

// size reads a number of bytes: "16MiB".
func (e *entry) size(key string) int {
	s, ok := e.measure(key, "a size", sizeOf)
	if !ok || s == "" {
		return 0
	}
	digits, factor := s, int64(0)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			digits, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || factor == 0 || n*factor < minCap || n*factor > maxCap {
		e.fail(key, "%q is no size from 1KiB to 1GiB; write %s", s, e.assignment(key, sizeOf(s)))
		return 0
	}
	return int(n * factor)
}

// sizeOf returns the size that was probably meant by a number, or by one with a unit that sizes do
// not have. A number without a unit is one of bytes if it is a KiB of them or more.
func sizeOf(text string) string {
	rest := strings.TrimLeft(text, "0123456789")
	n, err := strconv.ParseInt(strings.TrimSuffix(text, rest), 10, 32)
	unit := strings.TrimSpace(rest)
	name, bytes := "MiB", int64(1<<20)
	for _, u := range units {
		if unit != "" && strings.EqualFold(unit[:1], u.name[:1]) {
			name, bytes = u.name, u.bytes
		}
	}
	if unit == "" && n >= minCap {
		name, bytes = "B", 1
		for _, larger := range []string{"KiB", "MiB"} {
			if n%1024 == 0 && n > 0 {
				name, bytes, n = larger, bytes<<10, n>>10
			}
		}
	}
	if err != nil || n*bytes < minCap || n*bytes > maxCap {
		return "16MiB"
	}
	return strconv.FormatInt(n, 10) + name
}

// measure reads a text that is a number with its unit. If the value is no text, ok is false, and the
// mistake shows what meant makes of the value.
func (e *entry) measure(key, kind string, meant func(text string) string) (text string, ok bool) {
	value, found := e.values[key]
	if text, ok = value.(string); found && !ok {
		number, _ := asText(value)
		e.fail(key, "expected %s, not %s; write %s", kind, sort(value), e.assignment(key, meant(number)))
	}
	return text, ok
}

// assignment returns the line that gives a key a text, in the format of the document.
func (e *entry) assignment(key, text string) string { return e.assigned(key, strconv.Quote(text)) }

// assigned returns the line that gives a key a value, in the format of the document.
func (e *entry) assigned(key, value string) string { return e.doc.format.assigned(key, value) }

func (f format) assigned(key, value string) string {
	switch f {
	case formatTOML:
		return key + " = " + value
	case formatYAML:
		return key + ": " + value
	}
	return strconv.Quote(key) + ": " + value
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// secondsOf returns the duration of a number of seconds. A number that is no wait for an answer in
// seconds, as one of milliseconds, is shown as the usual wait.
func secondsOf(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || n < 0 || n > 3600:
		return "30s"
	case n == 0:
		return "0"
	}
	return text + "s"
}
