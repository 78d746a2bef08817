package abi

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

// ErrMalformed is what every decoder of this package wraps its errors around.
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

// The sizes of the headers of a block (a u32) and of a field (u16 and u32); the
// package comment draws both.
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

// appendText appends a field with a text; an empty one is left out, since
// absent and empty mean the same.
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

// BlockSize returns how many bytes the block at the start of b takes, header
// included; ok is false where b is shorter than that. Where b is too short for a
// length, size is 0.
func BlockSize(b []byte) (size int, ok bool) {
	if len(b) < blockHeader {
		return 0, false
	}
	n := uint64(binary.LittleEndian.Uint32(b)) + blockHeader
	return int(n), n <= uint64(len(b))
}

// decoder reads the fields of one block. It never reads past the block, and it
// remembers the first thing that was wrong.
type decoder struct {
	block string // the name of the block, for errors
	data  []byte // the whole block, and whatever follows it
	pos   int    // of what is read now: a field header, then its value
	next  int    // of the field after it
	end   int    // of the block
	seen  uint64 // the tags below 64 that stood, one bit each
	err   error
}

func newDecoder(block string, b []byte) *decoder {
	d := &decoder{block: block, data: b, next: blockHeader}
	size, ok := BlockSize(b)
	if !ok {
		d.fail("the block is cut short")
		return d
	}
	d.end = size
	return d
}

// field moves to the next field; ok is false at the end and after an error.
// The value is a part of the block, not a copy.
func (d *decoder) field() (tag uint16, value []byte, ok bool) {
	if d.err != nil || d.next >= d.end {
		return 0, nil, false
	}
	d.pos = d.next
	rest := d.data[d.pos:d.end]
	if len(rest) < fieldHeader {
		d.fail("a field header is cut short")
		return 0, nil, false
	}
	tag = binary.LittleEndian.Uint16(rest)
	n := uint64(binary.LittleEndian.Uint32(rest[2:]))
	if n > uint64(len(rest)-fieldHeader) {
		d.fail("a field is longer than its block")
		return 0, nil, false
	}
	d.pos += fieldHeader
	d.next = d.pos + int(n)
	return tag, d.data[d.pos:d.next:d.next], true
}

// fail keeps the first error, at the place that is being read.
func (d *decoder) fail(reason string) {
	if d.err == nil {
		d.err = &DecodeError{Block: d.block, Offset: d.pos, Reason: reason}
	}
}

// once refuses the second field of a tag that may stand only once. Only tags
// that this package knows come here, and those are below 64.
func (d *decoder) once(tag uint16) {
	if d.seen&(1<<tag) != 0 {
		d.fail("a field stands twice")
	}
	d.seen |= 1 << tag
}

func (d *decoder) text(tag uint16, v []byte) string {
	d.once(tag)
	if !utf8.Valid(v) {
		d.fail("a text is not UTF-8")
		return ""
	}
	return string(v)
}

func (d *decoder) u32(tag uint16, v []byte) uint32 {
	d.once(tag)
	if len(v) != 4 {
		d.fail("an integer does not have 4 bytes")
		return 0
	}
	return binary.LittleEndian.Uint32(v)
}

// pair reads a u32 with the length of the key, the key, and the value. Both
// are checked by themselves: a character must not straddle their border.
func (d *decoder) pair(v []byte) Pair {
	if len(v) < 4 {
		d.fail("a pair is cut short")
		return Pair{}
	}
	n := uint64(binary.LittleEndian.Uint32(v))
	if n > uint64(len(v)-4) {
		d.fail("the key of a pair is longer than the pair")
		return Pair{}
	}
	key, value := v[4:4+n], v[4+n:]
	if !utf8.Valid(key) || !utf8.Valid(value) {
		d.fail("a pair is not UTF-8")
		return Pair{}
	}
	return Pair{Key: string(key), Value: string(value)}
}

// grant reads a u32 with the kind, and the name.
func (d *decoder) grant(v []byte) Grant {
	if len(v) < 4 {
		d.fail("a grant is cut short")
		return Grant{}
	}
	if !utf8.Valid(v[4:]) {
		d.fail("the name of a grant is not UTF-8")
		return Grant{}
	}
	return Grant{Kind: OpenKind(binary.LittleEndian.Uint32(v)), Name: string(v[4:])}
}
