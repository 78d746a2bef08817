package strictjson

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote returns the text of raw, a string as written with its quotes. The result aliases raw if
// nothing is escaped.
func Unquote(raw []byte) []byte {
	text, _ := unquote(raw)
	return text
}

func unquote(raw []byte) (text []byte, aliased bool) {
	if len(raw) < 2 {
		return nil, true
	}
	raw = raw[1 : len(raw)-1]
	n := bytes.IndexByte(raw, '\\')
	if n < 0 {
		return raw, true
	}
	// No escape stands for more bytes than it is written with, so the result
	// fits, and eight bytes of room let the loop store whole words.
	dst := make([]byte, len(raw)+8)
	copy(dst, raw[:n])
	return dst[:unescapeTo(dst, n, raw, n)], false
}

// unescapeTo copies raw from offset i on to dst from offset n on, and resolves the escapes. It
// returns the offset behind the last byte that it wrote to dst.
func unescapeTo(dst []byte, n int, raw []byte, i int) int {
	for i+8 <= len(raw) {
		x := load(raw[i:])
		binary.LittleEndian.PutUint64(dst[n:], x)
		marks := escaped(x)
		if marks == 0 {
			i, n = i+8, n+8
			continue
		}
		run := first(marks)
		i, n = resolve(dst, n+run, raw, i+run)
	}
	for i < len(raw) {
		if raw[i] == '\\' {
			i, n = resolve(dst, n, raw, i)
			continue
		}
		dst[n] = raw[i]
		i, n = i+1, n+1
	}
	return n
}

// single maps the letter of a two-byte escape to what it stands for. Letters
// that JSON does not have stand for themselves.
var single = func() (table [256]byte) {
	for i := range table {
		table[i] = byte(i)
	}
	table['b'], table['f'], table['n'], table['r'], table['t'] = '\b', '\f', '\n', '\r', '\t'
	return table
}()

// resolve writes to dst, from n on, what the escape at offset i of raw stands for. It returns the
// next offset in raw and the next one in dst.
func resolve(dst []byte, n int, raw []byte, i int) (int, int) {
	if i+1 >= len(raw) {
		return len(raw), n
	}
	if raw[i+1] != 'u' {
		dst[n] = single[raw[i+1]]
		return i + 2, n + 1
	}
	unit := hexUnit(raw[i:])
	if unit < 0 {
		return i + 2, n
	}
	i += 6
	r := rune(unit)
	if isSurrogate(unit) {
		r = utf8.RuneError
		if low := hexUnit(raw[i:]); !isLow(unit) && isLow(low) {
			r = utf16.DecodeRune(rune(unit), rune(low))
			i += 6
		}
	}
	return i, n + utf8.EncodeRune(dst[n:], r)
}
