package wasm

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"unicode/utf8"
)

// cursor reads a binary from front to back. It stores the first error in err. After that every read
// returns zero and moves nothing, so callers need to check err only where a loop could run on a bad
// count.
type cursor struct {
	b   []byte
	at  int
	err error
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("at byte %d: %s", c.at, fmt.Sprintf(format, args...))
		c.b = c.b[:c.at]
	}
}

// atMost ends the reading if found is more than limit. For the error, item says what was counted,
// and unit what the number of the limit counts.
func (c *cursor) atMost(item string, found uint64, limit int, unit string) {
	if found > uint64(limit) && c.err == nil {
		c.err = newExcess(item, found, limit, unit)
		c.b = c.b[:c.at]
	}
}

func (c *cursor) more() bool { return c.at < len(c.b) }

func (c *cursor) u8() byte {
	if c.at >= len(c.b) {
		c.fail("the binary ends too early")
		return 0
	}
	v := c.b[c.at]
	c.at++
	return v
}

// take returns the next n bytes as a view into the binary.
func (c *cursor) take(n uint32) []byte {
	if uint64(n) > uint64(len(c.b)-c.at) {
		c.fail("%d bytes are announced, %d are left", n, len(c.b)-c.at)
		return nil
	}
	v := c.b[c.at : c.at+int(n)]
	c.at += int(n)
	return v
}

// u32 reads an unsigned LEB128 number. Padded forms of up to five bytes are legal, bits beyond the
// 32nd are not. wazero reads the numbers in the same way, which keeps both readers on the same
// instruction.
func (c *cursor) u32() uint32 {
	if c.at < len(c.b) && c.b[c.at] < 0x80 { // nearly all numbers are
		c.at++
		return uint32(c.b[c.at-1])
	}
	v, n := binary.Uvarint(c.b[c.at:min(c.at+5, len(c.b))])
	switch {
	case n > 0 && v <= math.MaxUint32:
		c.at += n
		return uint32(v)
	case n == 0 && len(c.b)-c.at < 5:
		c.at = len(c.b)
		c.fail("the binary ends too early")
	default:
		c.at += 5
		c.fail("a number is longer than 32 bits")
	}
	return 0
}

// signed reads a signed LEB128 number of the given width in bits.
func (c *cursor) signed(width int) int64 {
	var v int64
	for shift := 0; shift < width; shift += 7 {
		b := c.u8()
		v |= int64(b&0x7f) << shift
		if b >= 0x80 {
			continue
		}
		// Bits of the last group that are unused must be copies of the sign.
		if top := int8(b<<1) >> (width - shift); top != 0 && top != -1 {
			break
		}
		if b&0x40 != 0 {
			v |= -1 << (shift + 7) // 0 if no bit is left
		}
		return v
	}
	c.fail("a number is longer than %d bits", width)
	return 0
}

// count reads the length of a vector whose elements take at least one byte each. So no announced
// count makes the host allocate more than the binary holds.
func (c *cursor) count() int {
	n := c.u32()
	if uint64(n) > uint64(len(c.b)-c.at) {
		c.fail("%d entries are announced, %d bytes are left", n, len(c.b)-c.at)
		return 0
	}
	return int(n)
}

// entries reads how many entries a section has; most is the limit. It yields once for each entry,
// with the number of entries left, until the first error.
func (c *cursor) entries(item string, most int) iter.Seq[int] {
	n := c.count()
	c.atMost(item, uint64(n), most, "")
	return func(yield func(int) bool) {
		for ; n > 0 && c.err == nil && yield(n); n-- {
		}
	}
}

func (c *cursor) name() string { return string(c.text()) }

// text reads a name as a view into the binary.
func (c *cursor) text() []byte {
	s := c.take(c.u32())
	if !utf8.Valid(s) {
		c.fail("a name is not UTF-8")
	}
	return s
}

func appendU32(b []byte, v uint32) []byte { return binary.AppendUvarint(b, uint64(v)) }

func appendS64(b []byte, v int64) []byte {
	for v < -64 || v > 63 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v)&0x7f)
}

func appendName(b []byte, s string) []byte {
	return append(appendU32(b, uint32(len(s))), s...)
}
