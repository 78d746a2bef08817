package strictjson

import (
	"strconv"
	"strings"
)

// Reason says what is wrong with a text.
type Reason string

// The reasons for which text is refused.
const (
	Syntax    Reason = "unexpected byte"
	Truncated Reason = "text ends too early"
	Trailing  Reason = "more text after the value"
	Depth     Reason = "nested too deeply"
	Control   Reason = "raw control character in a string"
	Escape    Reason = "unknown escape in a string"
	Surrogate Reason = "lone surrogate in a name"
	UTF8      Reason = "invalid UTF-8"
)

// wanted begins the reasons of a [Reader], which end with a kind of value.
const wanted = "want "

// Error says why text was refused and at which byte. The Error of a [Reader] says which kind of
// value it wanted there.
type Error struct {
	Reason Reason
	Offset int
}

func (e *Error) Error() string {
	if e.Offset == 0 && strings.HasPrefix(string(e.Reason), wanted) { // it is about the whole text
		return string(e.Reason)
	}
	return string(e.Reason) + " at offset " + strconv.Itoa(e.Offset)
}
