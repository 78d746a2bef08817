package jsonl

import (
	"encoding/base64"
	"strconv"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// Object is a JSON object that is appended member by member, for lines without
// reflection. The methods for texts, counts, flags and bytes leave a member out if its
// value is zero.
type Object []byte

// Open begins an object behind what is there, and Close ends it.
func (o *Object) Open()  { *o = append(*o, '{') }
func (o *Object) Close() { *o = append(*o, '}') }

// Name begins a member. The caller appends its value; name is written as it is.
func (o *Object) Name(name string) {
	if last := (*o)[len(*o)-1]; last != '{' && last != '[' {
		*o = append(*o, ',')
	}
	*o = append(append(append(*o, '"'), name...), `":`...)
}

func (o *Object) Text(name, value string) {
	if value != "" {
		o.Name(name)
		*o = strictjson.AppendString(*o, value)
	}
}

// Time writes a time in the form of RFC 3339, in UTC, with microseconds.
func (o *Object) Time(name string, at time.Time) {
	o.Text(name, at.UTC().Format("2006-01-02T15:04:05.000000Z07:00"))
}

// Number writes a number, also zero.
func (o *Object) Number(name string, n int64) {
	o.Name(name)
	*o = strconv.AppendInt(*o, n, 10)
}

func (o *Object) Count(name string, n int64) {
	if n != 0 {
		o.Number(name, n)
	}
}

func (o *Object) Flag(name string, on bool) {
	if on {
		o.Raw(name, []byte("true"))
	}
}

// Raw writes a value that is JSON already; nil is left out.
func (o *Object) Raw(name string, value []byte) {
	if len(value) > 0 {
		o.Name(name)
		*o = append(*o, value...)
	}
}

func (o *Object) Base64(name string, p []byte) {
	if len(p) > 0 {
		o.Name(name)
		*o = append(base64.StdEncoding.AppendEncode(append(*o, '"'), p), '"')
	}
}

// Numbers writes an array of numbers; an empty one is left out.
func Numbers[N int64 | uint32](o *Object, name string, numbers []N) {
	if len(numbers) == 0 {
		return
	}
	o.Name(name)
	*o = append(*o, '[')
	for i, n := range numbers {
		if i > 0 {
			*o = append(*o, ',')
		}
		*o = strconv.AppendInt(*o, int64(n), 10)
	}
	*o = append(*o, ']')
}
