package strictjson

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD: it is meant for the host's own text, such as a method name or a
// reason. Text of a user goes through [AppendStrict].
func AppendString(dst []byte, s string) []byte {
	out, ok := appendQuoted(dst, s)
	if !ok {
		out, _ = appendQuoted(dst, strings.ToValidUTF8(s, string(utf8.RuneError)))
	}
	return out
}

// AppendStrict appends s as a JSON string. It returns an error, and dst as it
// was, if s is not UTF-8: text must not change silently on its way to a
// server.
func AppendStrict(dst []byte, s string) ([]byte, error) {
	out, ok := appendQuoted(dst, s)
	if !ok {
		return dst, &Error{Reason: UTF8, Offset: invalidUTF8([]byte(s))}
	}
	return out, nil
}

// appendQuoted appends s with its special bytes escaped and everything else as
// it is, U+2028 and U+2029 included. It reports whether s is UTF-8.
func appendQuoted(dst []byte, s string) (out []byte, ok bool) {
	scan := scanner{src: unsafe.Slice(unsafe.StringData(s), len(s))}
	dst = append(slices.Grow(dst, len(s)+2), '"')
	for i := 0; ; i++ {
		run := i
		i = scan.plain(run)
		dst = append(dst, s[run:i]...)
		if i == len(s) {
			break
		}
		dst = appendEscape(dst, s[i])
	}
	return append(dst, '"'), scan.wide&tops == 0 || utf8.ValidString(s)
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\t':
		return append(dst, '\\', 't')
	case '\r':
		return append(dst, '\\', 'r')
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// AppendRaw appends text, one JSON value, without its white space. If [Valid] refuses text, it
// returns an error, and dst as it was.
func AppendRaw(dst, text []byte) ([]byte, error) {
	if err := Valid(text, 0); err != nil {
		return dst, fmt.Errorf("raw JSON: %w", err)
	}
	return appendCompact(dst, text), nil
}

// AppendLine appends text, one JSON value, as it is written, but without white space at its ends
// and without the line breaks between its parts. It returns an error, and dst as it was, where
// [Valid] refuses text.
func AppendLine(dst, text []byte) ([]byte, error) {
	if err := Valid(text, 0); err != nil {
		return dst, fmt.Errorf("raw JSON: %w", err)
	}
	for line := range bytes.SplitSeq(bytes.Trim(text, " \t\r\n"), []byte{'\n'}) { // no string has a line break
		for part := range bytes.SplitSeq(line, []byte{'\r'}) {
			dst = append(dst, part...)
		}
	}
	return dst, nil
}

// appendCompact appends text without the white space outside of strings.
func appendCompact(dst, text []byte) []byte {
	start, i := 0, 0
	for i < len(text) {
		switch text[i] {
		case '"':
			i = skipText(text, i+1)
		case ' ', '\n', '\r', '\t':
			dst = append(dst, text[start:i]...)
			i++
			start = i
		default:
			i++
		}
	}
	return append(dst, text[start:]...)
}
