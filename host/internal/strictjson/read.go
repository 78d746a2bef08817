package strictjson

import (
	"bytes"
	"iter"
	"math"
	"strconv"
	"unsafe"
)

// Reader reads a text that [Valid] or [Walk] has accepted, front to back, each byte once. Every
// reading method takes the next value, of whatever kind. If the kind is wrong, the method skips the
// value and stores the mismatch as the error, so a decoder is a plain list of the values that it
// wants:
//
//	r := strictjson.Read(text)
//	for key := range r.Object() {
//		switch string(key) {
//		case "name":
//			tool.Name = r.String()
//		case "tags":
//			for range r.Array() {
//				tool.Tags = append(tool.Tags, r.String())
//			}
//		}
//	}
//	return r.Err()
//
// A value that the body of such a loop does not read is skipped. If the loop ends early, the reader
// stays where it is.
//
// On text that was not accepted, the results are arbitrary, but every method ends and none panics.
// So a Reader can look for the id in a broken message.
//
// The decoded form of an element takes far more memory than `{},` does, so a reader returns at most
// [DefaultElements], unless [Reader.Within] or [Reader.Unbounded] says otherwise. Members of
// objects are not counted: a decoder that keeps the members of an object must bound them itself.
type Reader struct {
	src  []byte
	pos  int
	err  error
	left int        // elements that it may still return
	from *Allowance // counts the elements instead of left; may be nil
}

// DefaultElements is how many elements of arrays a reader returns, counted over all arrays of the
// text, also nested ones. The largest type of the protocol takes about 600 bytes, with its index
// entry, so this is 6 MB.
const DefaultElements = 10_000

// Allowance is how many elements the readers of several texts may return together.
type Allowance struct{ left, most int }

// NewAllowance returns an allowance of most elements.
func NewAllowance(most int) *Allowance { return &Allowance{left: most, most: most} }

// Read returns a reader at the start of text, which it aliases.
func Read(text []byte) *Reader {
	r := &Reader{src: text, left: DefaultElements}
	r.blank()
	return r
}

// Within makes r count its elements against a, and returns r.
func (r *Reader) Within(a *Allowance) *Reader {
	r.from = a
	return r
}

// Unbounded removes the bound on elements from r, and returns r. It is for decoders that keep
// nothing of an element, or count what they keep.
func (r *Reader) Unbounded() *Reader {
	r.left, r.from = math.MaxInt, nil
	return r
}

// TooManyError says that a text has more elements than its reader may return.
type TooManyError struct {
	Most   int
	Offset int
}

func (e *TooManyError) Error() string {
	return "want at most " + strconv.Itoa(e.Most) + " elements in all arrays, there are more at offset " + strconv.Itoa(e.Offset)
}

// grant takes one element from the allowance. If none is left, it returns false, sets the error and moves
// the reader to its end.
func (r *Reader) grant() bool {
	left, most := &r.left, DefaultElements
	if r.from != nil {
		left, most = &r.from.left, r.from.most
	}
	if *left > 0 {
		*left--
		return true
	}
	if r.err == nil {
		r.err = &TooManyError{Most: most, Offset: r.pos}
	}
	r.pos = len(r.src)
	return false
}

// Err returns the first mismatch, an [*Error], or a [*TooManyError], or nil.
func (r *Reader) Err() error { return r.err }

// Offset returns where the next value begins. Behind a value that was read it is the offset of
// its end.
func (r *Reader) Offset() int { return r.pos }

// Kind returns the first byte of the next value: one of { [ " t f n - or a
// digit, and 0 behind the last value.
func (r *Reader) Kind() byte {
	if r.pos < len(r.src) {
		return r.src[r.pos]
	}
	return 0
}

// Cut reports whether the text has ended. Right after a member or an element, it means that the
// text was cut off, possibly inside that value.
func (r *Reader) Cut() bool { return r.pos >= len(r.src) }

func (r *Reader) blank() {
	for r.pos < len(r.src) && r.src[r.pos] <= ' ' {
		r.pos++
	}
}

// want reports whether the next value begins with c. If not, it skips the value and stores the
// mismatch.
func (r *Reader) want(c byte, what string) bool {
	if r.Kind() == c {
		return true
	}
	r.refuse(what)
	return false
}

func (r *Reader) refuse(what string) {
	if r.err == nil {
		r.err = &Error{Reason: Reason(wanted + what), Offset: r.pos}
	}
	r.Skip()
}

// Skip skips the next value.
func (r *Reader) Skip() { r.Raw() }

// Raw returns the next value as written, aliasing the text.
func (r *Reader) Raw() []byte {
	start := r.pos
	r.pos = skip(r.src, start)
	return r.src[start:r.pos:r.pos]
}

// Object iterates over the names of the next value's members. The body of the loop reads the value
// of each. A name without escapes aliases the text.
func (r *Reader) Object() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) { r.members(yield) }
}

// Members is Object without the members whose value is null.
func (r *Reader) Members() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		r.members(func(name []byte) bool { return r.Null() || yield(name) })
	}
}

// members is apart from Object so that Object can be inlined, which keeps its
// closures, and with them the caller's loop body, off the heap.
func (r *Reader) members(yield func([]byte) bool) {
	if !r.want('{', "an object") {
		return
	}
	for {
		key, more := r.Member()
		if !more {
			return
		}
		at := r.pos
		if !yield(key) {
			return
		}
		if r.pos == at {
			r.Skip()
		}
	}
}

// Member returns the name of an object's next member, whose value must be read or skipped next. It
// returns false after the last. The reader must be at the opening brace, or behind a value of the
// object.
func (r *Reader) Member() (name []byte, more bool) {
	if !r.part('}') {
		return nil, false
	}
	name = r.Text()
	r.over()
	return name, true
}

// Array iterates over the indexes of the next value's elements. The body of the loop reads each
// element. If there are too many, all reading ends with a [*TooManyError].
func (r *Reader) Array() iter.Seq[int] {
	return func(yield func(int) bool) { r.elements(yield) }
}

func (r *Reader) elements(yield func(int) bool) {
	if !r.want('[', "an array") {
		return
	}
	for n := 0; r.part(']'); n++ {
		if !r.grant() {
			return
		}
		at := r.pos
		if !yield(n) {
			return
		}
		if r.pos == at {
			r.Skip()
		}
	}
}

// over steps over one byte of punctuation and the white space around it.
func (r *Reader) over() {
	r.blank()
	if r.pos < len(r.src) {
		r.pos++
	}
	r.blank()
}

// part moves to the next element of an array or object, over the opening
// bracket or a comma. It returns false behind the closing bracket and at the
// end of the text.
func (r *Reader) part(closing byte) bool {
	r.blank()
	if r.Kind() != closing {
		r.over()
	}
	if r.Kind() == closing {
		r.pos++
		return false
	}
	return r.pos < len(r.src)
}

// String returns the next value, a string.
func (r *Reader) String() string {
	text, aliased := r.text()
	if aliased {
		return string(text)
	}
	return unsafe.String(unsafe.SliceData(text), len(text))
}

// Text returns the next value, a string. The bytes alias the text if the string has no escapes, and
// must not be changed.
func (r *Reader) Text() []byte {
	text, _ := r.text()
	return text
}

func (r *Reader) text() (text []byte, aliased bool) {
	if !r.want('"', "a string") {
		return nil, true
	}
	return unquote(r.Raw())
}

// Bool returns the next value, true or false.
func (r *Reader) Bool() bool {
	switch at := r.pos; string(r.Raw()) {
	case "true":
		return true
	case "false":
	default:
		r.pos = at
		r.refuse("true or false")
	}
	return false
}

// Null reports whether the next value is null, and skips it if so.
func (r *Reader) Null() bool {
	if r.Kind() != 'n' {
		return false
	}
	r.Skip()
	return true
}

// Int returns the next value, a number written as an integer of 64 bits.
func (r *Reader) Int() int64 {
	at := r.pos
	n, ok := Int(r.Raw())
	if !ok {
		r.pos = at
		r.refuse("an integer")
	}
	return n
}

// Float returns the next value, a number. Beyond the range of a float64 it is
// a mismatch.
func (r *Reader) Float() float64 {
	at := r.pos
	raw := r.Raw()
	x, err := strconv.ParseFloat(view(raw), 64)
	if err != nil {
		r.pos = at
		r.refuse("a number")
		return 0
	}
	return x
}

// Int parses raw, a number written as an integer: no fraction, no exponent.
func Int(raw []byte) (n int64, ok bool) {
	if len(raw) == 0 || len(raw) > len("-9223372036854775808") || raw[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseInt(view(raw), 10, 64)
	return n, err == nil
}

// view returns b as a string without a copy. The string must not be used once b changes.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// skip returns the offset after the value that begins at i.
func skip(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			i = skipText(b, i+1)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			i++
		default:
			for i++; i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != ':' && b[i] != ']' && b[i] != '}'; i++ {
			}
		}
		if depth <= 0 {
			break
		}
	}
	return i
}

// skipText returns the offset after the quote that closes the string whose
// content begins at i: the first quote after an even number of backslashes.
func skipText(b []byte, i int) int {
	for {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		slash := i + n
		for slash > i && b[slash-1] == '\\' {
			slash--
		}
		slashes := i + n - slash
		if i += n + 1; slashes%2 == 0 {
			return i
		}
	}
}
