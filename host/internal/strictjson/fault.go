package strictjson

import "strconv"

// Reason says what is wrong with a text.
type Reason uint8

// The reasons for which text is refused.
const (
	Syntax    Reason = iota + 1 // a byte that cannot stand where it stands
	Truncated                   // the text ends inside a value
	Trailing                    // something follows the value
	Depth                       // arrays and objects nested deeper than the limit
	Control                     // a raw control character in a string, NUL among them
	Escape                      // a backslash sequence that JSON does not have
	Surrogate                   // an escaped surrogate without its other half
	UTF8                        // bytes that are not UTF-8
)

var reasons = [...]string{
	Syntax:    "unexpected byte",
	Truncated: "text ends too early",
	Trailing:  "more text after the value",
	Depth:     "nested too deeply",
	Control:   "raw control character in a string",
	Escape:    "unknown escape in a string",
	Surrogate: "lone surrogate in a string",
	UTF8:      "invalid UTF-8",
}

func (r Reason) String() string {
	if int(r) < len(reasons) && r != 0 {
		return reasons[r]
	}
	return "reason(" + strconv.Itoa(int(r)) + ")"
}

// Error tells why text was refused and at which byte.
type Error struct {
	Reason Reason
	Offset int
}

func (e *Error) Error() string {
	return e.Reason.String() + " at offset " + strconv.Itoa(e.Offset)
}
