package config

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// The marks with which a file says how its text is encoded.
var (
	markUTF8  = []byte("\xef\xbb\xbf")
	markUTF16 = map[string]binary.ByteOrder{"\xff\xfe": binary.LittleEndian, "\xfe\xff": binary.BigEndian}
)

// decode returns the text of a file, which is UTF-8, or UTF-16 as some editors and shells
// of Windows write it. It has no byte order mark.
func decode(path string, data []byte) ([]byte, error) {
	if text, ok := bytes.CutPrefix(data, markUTF8); ok {
		data = text
	}
	if len(data) >= 2 {
		if order, ok := markUTF16[string(data[:2])]; ok {
			return fromUTF16(path, data[2:], order)
		}
	}
	if i := bytes.IndexByte(data, 0); i >= 0 && i < 4 {
		problem := "is no text: it has a byte 0x00"
		if begin := data[:min(len(data), 4)]; bytes.Count(begin, []byte{0}) >= len(begin)/2 { // as with two or four bytes for each letter
			problem = "is in UTF-16 or UTF-32, and does not say so by a byte order mark; save it as UTF-8"
		}
		return nil, &Error{File: path, Problem: problem}
	}
	if !utf8.Valid(data) {
		good := 0
		for good < len(data) {
			if r, n := utf8.DecodeRune(data[good:]); r == utf8.RuneError && n == 1 {
				break
			} else {
				good += n
			}
		}
		return nil, &Error{
			File: path, Line: 1 + bytes.Count(data[:good], []byte("\n")),
			Problem: fmt.Sprintf("is not UTF-8: byte 0x%02x; save it as UTF-8", data[good]),
		}
	}
	return data, nil
}

func fromUTF16(path string, data []byte, order binary.ByteOrder) ([]byte, error) {
	if len(data)%2 != 0 {
		return nil, &Error{File: path, Problem: "begins as UTF-16, and ends in the middle of a character; save it as UTF-8"}
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return []byte(string(utf16.Decode(units))), nil
}
