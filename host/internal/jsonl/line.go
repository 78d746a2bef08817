package jsonl

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// Line is one line, a JSON object, that is written or read. A format lists its members
// once, for both: in a function that calls a method of Line for each member, with its
// name and a pointer to its value. To write a line, the function is called once, between
// Begin and End. To read one, it is called again and again: a method that has the name of
// the next member stores the value, and moves on. So one call reads a line whose members
// are in the order of the list, and any other order needs more:
//
//	func (r *Record) members(l *jsonl.Line) {
//		l.Text("kind", &r.Kind)
//		jsonl.Count(l, "missing", &r.Missing)
//	}
//
// Unless it says otherwise, a method writes no member for a zero value. Members that no
// method names are skipped. The zero Line is for writing.
type Line struct {
	Out []byte // the text so far of a line that is written

	in   *strictjson.Reader // nil for a line that is written
	name []byte             // the name of the member to be read next
	more bool               // there is such a member
	read int                // how many members were read
	err  error              // the first error
}

// maxListed is how many elements the arrays of a line may have. An event of a recording
// has fewer host calls, because its fuel ends before.
const maxListed = 200_000

// Begin begins to write a line behind dst.
func (l *Line) Begin(dst []byte) { *l = Line{Out: append(dst, '{')} }

// End ends the line, and returns everything that was written.
func (l *Line) End() []byte {
	l.Out = append(l.Out, '}', '\n')
	return l.Out
}

// Read reads a line, which may have any bytes. members is the function that lists the members. The
// values that it stores may alias text.
func Read(text []byte, members func(*Line)) error {
	if err := strictjson.Valid(text, strictjson.DefaultDepth+1); err != nil {
		return err
	}
	l := Line{in: strictjson.Read(text).Within(strictjson.NewAllowance(maxListed))}
	l.object(func() { members(&l) })
	if l.err == nil {
		l.err = l.in.Err()
	}
	return l.err
}

// object reads an object.
func (l *Line) object(members func()) {
	if l.in.Kind() != '{' {
		for range l.in.Object() { // makes it an error
		}
		return
	}
	for l.next(); l.more; {
		before := l.read
		if members(); l.more && l.read == before {
			l.in.Skip() // no method has its name
			l.next()
		}
	}
}

// next goes on to the next member.
func (l *Line) next() {
	l.name, l.more = l.in.Member()
	l.read++
}

// Fail sets the error of a line that is read, unless there is one already.
func (l *Line) Fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// Writing reports whether the line is written.
func (l *Line) Writing() bool { return l.in == nil }

// Reads reports whether this is the member of that name, to be read.
func (l *Line) Reads(name string) bool { return l.in != nil && l.more && string(l.name) == name }

// has begins a member of that name. When a line is written, value says whether there is a value to
// write. has reports whether the caller goes on: to append the value, or to read it.
func (l *Line) has(name string, value bool) bool {
	if l.in != nil || !value {
		return l.Reads(name)
	}
	if last := l.Out[len(l.Out)-1]; last != '{' && last != '[' {
		l.Out = append(l.Out, ',')
	}
	l.Out = append(append(append(l.Out, '"'), name...), `":`...)
	return true
}

// Text writes or reads a string.
func (l *Line) Text(name string, value *string) {
	switch {
	case !l.has(name, *value != ""):
	case l.Writing():
		l.Out = strictjson.AppendString(l.Out, *value)
	default:
		*value = l.in.String()
		l.next()
	}
}

// Time writes or reads a time in the form of RFC 3339, in UTC, with microseconds. A text that is no
// time is read as the zero time.
func (l *Line) Time(name string, value *time.Time) {
	switch {
	case !l.has(name, !value.IsZero()):
	case l.Writing():
		l.Out = append(value.UTC().AppendFormat(append(l.Out, '"'), "2006-01-02T15:04:05.000000Z07:00"), '"')
	default:
		*value, _ = time.Parse(time.RFC3339, l.in.String())
		l.next()
	}
}

// Micros writes or reads a duration as a number of microseconds, also if it is zero. A number out
// of range is read as zero.
func (l *Line) Micros(name string, value *time.Duration) {
	const most = int64(1<<63-1) / int64(time.Microsecond)
	if !l.Writing() && !l.Reads(name) {
		return
	}
	n := value.Microseconds()
	if Number(l, name, &n); l.Writing() {
		return
	}
	if n < 0 || n > most {
		n = 0
	}
	*value = time.Duration(n) * time.Microsecond
}

// integer is a type of numbers.
type integer interface{ int | int32 | int64 | uint32 }

// Number writes or reads a number, also if it is zero. A number that is read must fit N.
func Number[N integer](l *Line, name string, value *N) {
	if l.has(name, true) {
		number(l, value)
		if !l.Writing() {
			l.next()
		}
	}
}

func number[N integer](l *Line, value *N) {
	if l.Writing() {
		l.Out = strconv.AppendInt(l.Out, int64(*value), 10)
		return
	}
	n := l.in.Int()
	if *value = N(n); int64(*value) != n {
		l.Fail(fmt.Errorf("the number %d", n))
	}
}

// Count writes or reads a number.
func Count[N integer](l *Line, name string, value *N) {
	if l.has(name, *value != 0) {
		number(l, value)
		if !l.Writing() {
			l.next()
		}
	}
}

// Flag writes or reads a boolean.
func (l *Line) Flag(name string, value *bool) {
	switch {
	case !l.has(name, *value):
	case l.Writing():
		l.Out = append(l.Out, "true"...)
	default:
		*value = l.in.Bool()
		l.next()
	}
}

// Raw writes or reads any JSON value.
func (l *Line) Raw(name string, value *[]byte) {
	switch {
	case !l.has(name, len(*value) > 0):
	case l.Writing():
		l.Out = append(l.Out, *value...)
	default:
		*value = l.in.Raw()
		l.next()
	}
}

// Base64 writes or reads bytes in base64.
func (l *Line) Base64(name string, value *[]byte) {
	switch {
	case !l.has(name, len(*value) > 0):
	case l.Writing():
		l.Out = append(base64.StdEncoding.AppendEncode(append(l.Out, '"'), *value), '"')
	default:
		var err error
		if *value, err = base64.StdEncoding.DecodeString(l.in.String()); err != nil {
			l.Fail(err)
		}
		l.next()
	}
}

// Numbers writes or reads an array of numbers.
func Numbers[N integer](l *Line, name string, list *[]N) {
	Array(l, name, list, func(n *N) { number(l, n) })
}

// Object writes or reads an element of an [Array]. members lists its members, like those of a line.
func (l *Line) Object(members func()) {
	if l.Writing() {
		l.Out = append(l.Out, '{')
		members()
		l.Out = append(l.Out, '}')
		return
	}
	l.object(members)
}

// Array writes or reads an array. element writes or reads each of its elements.
func Array[E any](l *Line, name string, list *[]E, element func(*E)) {
	switch {
	case !l.has(name, len(*list) > 0):
	case l.Writing():
		l.Out = append(l.Out, '[')
		for i := range *list {
			if i > 0 {
				l.Out = append(l.Out, ',')
			}
			element(&(*list)[i])
		}
		l.Out = append(l.Out, ']')
	default:
		for range l.in.Array() {
			var e E
			element(&e)
			*list = append(*list, e)
		}
		l.next()
	}
}
