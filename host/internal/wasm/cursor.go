package wasm

import (
	"fmt"
	"unicode/utf8"
)

// cursor reads a binary from front to back. The first thing that does not fit
// is kept in err, after which every read yields zero and moves nothing: callers
// check err once, where a loop could otherwise run on a bad count.
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

// exceed ends the reading because there is more of item than limit; unit is what
// follows the number of the limit in words.
func (c *cursor) exceed(item string, found, limit uint64, unit string) {
	if c.err == nil {
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

// u32 reads an unsigned LEB128 number. Padded forms are legal up to five bytes,
// bits beyond the 32nd are not: wazero reads them the same way, which is what
// keeps both readers on the same instruction.
func (c *cursor) u32() uint32 {
	if c.at < len(c.b) && c.b[c.at] < 0x80 {
		c.at++
		return uint32(c.b[c.at-1])
	}
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		b := c.u8()
		if shift == 28 && b > 0x0f {
			break
		}
		v |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	c.fail("a number is longer than 32 bits")
	return 0
}

// signed reads a signed LEB128 number of the given width in bits.
func (c *cursor) signed(width int) int64 {
	var v int64
	for shift := 0; shift < width; shift += 7 {
		b := c.u8()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			return c.extend(v, b, shift, width)
		}
	}
	c.fail("a number is longer than %d bits", width)
	return 0
}

// extend copies the sign of the last group upwards, and refuses a last group
// whose unused bits say anything but that sign.
func (c *cursor) extend(v int64, last byte, shift, width int) int64 {
	top := int8(last<<1) >> (width - shift) // sign bit and everything above it, moved down
	if top != 0 && top != -1 {
		c.fail("a number is longer than %d bits", width)
		return 0
	}
	if last&0x40 != 0 {
		v |= -1 << (shift + 7) // 0 if no bit is left
	}
	return v
}

// count reads the length of a vector whose elements take at least one byte
// each, so that no announced count makes us allocate more than the binary holds.
func (c *cursor) count() int {
	n := c.u32()
	if uint64(n) > uint64(len(c.b)-c.at) {
		c.fail("%d entries are announced, %d bytes are left", n, len(c.b)-c.at)
		return 0
	}
	return int(n)
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

func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

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
