package abi

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

// ErrMalformed is wrapped by every error of a decoder of this package.
var ErrMalformed = errors.New("malformed block")

// DecodeError says which block was wrong, where and how.
type DecodeError struct {
	Block  string // "facts", "settings", …
	Offset int    // in bytes, from the start of the block
	Reason string
}

func (e *DecodeError) Error() string {
	return e.Block + " at byte " + itoa(int64(e.Offset)) + ": " + e.Reason
}

// Unwrap makes errors.Is(err, ErrMalformed) true.
func (e *DecodeError) Unwrap() error { return ErrMalformed }

// Pair is a name and its value: a header, a setting.
type Pair struct{ Key, Value string }

// The sizes of the headers of a block (a u32) and of a field (u16 and u32). The package comment
// draws both.
const (
	blockHeader = 4
	fieldHeader = 6
)

// openBlock appends the header of a block, to be completed by closeBlock.
func openBlock(dst []byte) (block []byte, start int) {
	return append(dst, 0, 0, 0, 0), len(dst)
}

// closeBlock writes the length of the block that openBlock began at start.
func closeBlock(dst []byte, start int) []byte {
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-blockHeader))
	return dst
}

// appendText appends a field with a text. It leaves out an empty text, since absent and empty
// mean the same.
func appendText(dst []byte, tag uint16, s string) []byte {
	if s == "" {
		return dst
	}
	return append(appendField(dst, tag, len(s)), s...)
}

// appendU32 appends a field with one integer; zero is left out.
func appendU32(dst []byte, tag uint16, n uint32) []byte {
	if n == 0 {
		return dst
	}
	return binary.LittleEndian.AppendUint32(appendField(dst, tag, 4), n)
}

func appendPairs(dst []byte, tag uint16, pairs []Pair) []byte {
	for _, p := range pairs {
		dst = appendField(dst, tag, 4+len(p.Key)+len(p.Value))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(p.Key)))
		dst = append(append(dst, p.Key...), p.Value...)
	}
	return dst
}

func appendGrants(dst []byte, tag uint16, grants []Grant) []byte {
	for _, g := range grants {
		dst = appendField(dst, tag, 4+len(g.Name))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(g.Kind))
		dst = append(dst, g.Name...)
	}
	return dst
}

func appendField(dst []byte, tag uint16, n int) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, tag)
	return binary.LittleEndian.AppendUint32(dst, uint32(n))
}

// BlockSize returns the size in bytes of the block at the start of b, header included.
// ok is false if b is shorter than that. If b is too short to hold the length, size is
// 0.
func BlockSize(b []byte) (size int, ok bool) {
	if len(b) < blockHeader {
		return 0, false
	}
	n := uint64(binary.LittleEndian.Uint32(b)) + blockHeader
	return int(n), n <= uint64(len(b))
}

// decoder reads the fields of one block in passes. In each pass, a function that decodes a
// block asks for the fields that it knows, in the order of their tags; passes go on as long
// as fields are left. The decoder never reads past the block, and it stops at the first
// mistake.
type decoder struct {
	block string // the name of the block, for errors
	size  int    // of the block
	rest  []byte // the fields that follow the current one
	tag   int32  // of the current field; or start, or none
	value []byte // of the current field: a part of the block, not a copy
	moved bool   // a field was read in this pass
	seen  uint64 // the tags below 64 that were read, one bit each
	err   error
}

// The tags that stand for no field: before the first field, and behind the last one.
const (
	start = -2
	none  = -1
)

func newDecoder(block string, b []byte) decoder {
	d := decoder{block: block, tag: start}
	if size, ok := BlockSize(b); ok {
		d.size, d.rest = size, b[blockHeader:size]
	} else {
		d.fail("the block is cut short")
	}
	return d
}

// more begins a pass. The first pass always begins, because fields that are absent have to be
// cleared. A field that a whole pass did not ask for is skipped.
func (d *decoder) more() bool {
	first := d.tag == start
	if !d.moved {
		d.next()
	}
	d.moved = false
	return first || d.tag != none
}

// next moves to the next field.
func (d *decoder) next() {
	b := d.rest
	if len(b) < fieldHeader {
		d.stop()
		return
	}
	n := uint64(binary.LittleEndian.Uint32(b[2:])) + fieldHeader
	if n > uint64(len(b)) {
		d.value = nil
		d.fail("a field is longer than its block")
		return
	}
	d.tag, d.value, d.rest = int32(binary.LittleEndian.Uint16(b)), b[fieldHeader:n:n], b[n:]
}

// stop ends the fields where no whole field follows.
func (d *decoder) stop() {
	d.tag, d.value = none, nil
	if len(d.rest) > 0 {
		d.fail("a field header is cut short")
	}
}

// fail keeps the first error with its place in the block, and ends the decoding.
func (d *decoder) fail(reason string) {
	if d.err == nil {
		d.err = &DecodeError{Block: d.block, Offset: d.size - len(d.rest) - len(d.value), Reason: reason}
	}
	d.tag, d.rest = none, nil
}

// read counts the current field as read. If once is set, it refuses a field that was read
// before.
func (d *decoder) read(once bool) {
	bit := uint64(1) << d.tag
	if once && d.seen&bit != 0 {
		d.fail("a field stands twice")
	}
	d.seen |= bit
	d.moved = true
}

// unmet reports whether no field of that tag was read so far.
func (d *decoder) unmet(tag uint16) bool { return d.seen&(1<<tag) == 0 }

// text reads a text into s, and leaves s as it is where it is the same.
func (d *decoder) text(tag uint16, s *string) {
	if d.tag != int32(tag) {
		if d.unmet(tag) {
			*s = ""
		}
		return
	}
	d.read(true)
	if string(d.value) != *s {
		*s = d.copied(d.value, "a text is not UTF-8")
	}
	d.next()
}

// copied returns a string of its own, if v is a text.
func (d *decoder) copied(v []byte, wrong string) string {
	if !utf8.Valid(v) {
		d.fail(wrong)
		return ""
	}
	return string(v)
}

func (d *decoder) u32(tag uint16, n *uint32) {
	if d.tag != int32(tag) {
		if d.unmet(tag) {
			*n = 0
		}
		return
	}
	d.read(true)
	if len(d.value) != 4 {
		d.fail("an integer does not have 4 bytes")
		return
	}
	*n = binary.LittleEndian.Uint32(d.value)
	d.next()
}

// pairs reads pairs into list, which is used again.
func (d *decoder) pairs(tag uint16, list *[]Pair) {
	if d.unmet(tag) {
		*list = (*list)[:0]
	}
	for d.tag == int32(tag) {
		d.read(false)
		d.pair(list)
		d.next()
	}
}

// pair reads a u32 with the length of the key, the key, and the value. Both
// are checked by themselves: a character must not straddle their border. The
// pair is appended to list. It reuses the strings of an old pair in its place.
func (d *decoder) pair(list *[]Pair) {
	v := d.value
	if len(v) < 4 {
		d.fail("a pair is cut short")
		return
	}
	key := uint64(binary.LittleEndian.Uint32(v))
	if v = v[4:]; key > uint64(len(v)) {
		d.fail("the key of a pair is longer than the pair")
		return
	}
	p := extended(list)
	if string(v[:key]) != p.Key {
		p.Key = d.copied(v[:key], "a pair is not UTF-8")
	}
	if string(v[key:]) != p.Value {
		p.Value = d.copied(v[key:], "a pair is not UTF-8")
	}
}

// extended makes list one element longer and returns the element. It still holds what its array held there.
func extended(list *[]Pair) *Pair {
	n := len(*list)
	if n < cap(*list) {
		*list = (*list)[:n+1]
	} else {
		*list = append(*list, Pair{})
	}
	return &(*list)[n]
}

// grants reads grants, each a u32 with the kind, and the name, into list.
func (d *decoder) grants(tag uint16, list *[]Grant) {
	for d.tag == int32(tag) {
		d.read(false)
		if v := d.value; len(v) < 4 {
			d.fail("a grant is cut short")
		} else {
			kind := OpenKind(binary.LittleEndian.Uint32(v))
			*list = append(*list, Grant{Kind: kind, Name: d.copied(v[4:], "the name of a grant is not UTF-8")})
		}
		d.next()
	}
}
