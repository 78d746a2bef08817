//go:build !wasip1

package sse_test

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// event is what can be seen of one event from outside.
type event struct {
	name string
	data string // joined by newlines; of a message, without empty lines
	id   string // that a stream would be resumed from behind it
}

// reference reads a whole stream in the words of the standard, in which the
// reader under test is not written: lines first, and each line as a text. What
// follows the last line end is no line yet.
func reference(stream []byte) (events []event, retry uint32) {
	stream = bytes.TrimPrefix(stream, []byte("\uFEFF"))
	lines := regexp.MustCompile(`\r\n|\r|\n`).Split(string(stream), -1)
	var e event
	var id string
	var data []string
	seen := false
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			if seen {
				e.id, e.data = id, strings.Join(data, "\n")
				events = append(events, e)
			}
			e, data, seen = event{}, nil, false
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data = append(data, value)
		case "event":
			e.name = value
		case "id":
			if sendable(value) {
				id = value
			}
		case "retry":
			if digits.MatchString(value) {
				n, _ := strconv.ParseUint(value, 10, 64) // the largest of all where it is larger
				retry = uint32(min(max(n, 1), 24*60*60*1000))
			}
		default:
			continue
		}
		seen = true
	}
	return events, retry
}

// sendable reports whether an id can stand in a header.
func sendable(id string) bool {
	control := func(c rune) bool { return c < ' ' || c == 0x7F }
	return len(id) <= 1024 && utf8.ValidString(id) && !strings.ContainsFunc(id, control)
}

var digits = regexp.MustCompile(`^[0-9]+$`)

var blankLines = regexp.MustCompile(`[\r\n]+`)

// packed is what JSON sees of a message: which line ends there are between its
// lines makes no difference, nor do those around it.
func packed(data string) string {
	return strings.Trim(blankLines.ReplaceAllString(data, "\n"), "\n")
}
