//go:build !wasip1

package sdktest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/abi"
)

// blocks are the blocks that a trace shows by their value: encode makes the bytes of a
// value in JSON, and decode makes a value of bytes.
var blocks = map[string]struct {
	encode func(value []byte) ([]byte, error)
	decode func(block []byte) (any, error)
}{
	"facts":    {encodeWith(abi.AppendFacts), decodeWith(abi.DecodeFacts)},
	"settings": {encodeWith(abi.AppendSettings), decodeWith(abi.DecodeSettings)},
	"manifest": {encodeWith(abi.AppendManifest), decodeWith(abi.DecodeManifest)},
	"head":     {encodeWith(abi.AppendHead), decodeWith(abi.DecodeHead)},
}

func encodeWith[T any](encode func([]byte, *T) []byte) func([]byte) ([]byte, error) {
	return func(value []byte) ([]byte, error) {
		var v T
		d := json.NewDecoder(strings.NewReader(string(value)))
		d.DisallowUnknownFields()
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		return encode(nil, &v), nil
	}
}

func decodeWith[T any](decode func([]byte) (T, error)) func([]byte) (any, error) {
	return func(block []byte) (any, error) { return decode(block) }
}

// parseBytes reads the pieces on one line.
func parseBytes(text string) ([]byte, error) {
	if name, value, ok := strings.Cut(text, " "); ok {
		if b, ok := blocks[name]; ok {
			return b.encode([]byte(value))
		}
	}
	data := []byte{}
	for text != "" {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return nil, fmt.Errorf("expected a quoted string or a block: %s", text)
		}
		s, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		data = append(data, s...)
		text = strings.TrimLeft(text[len(quoted):], " ")
	}
	return data, nil
}

// appendBytes appends the lines for data. If block is the name of a block and data begins
// with such a block, the first line is the value of that block.
func appendBytes(dst []byte, block string, data []byte) []byte {
	if b, ok := blocks[block]; ok {
		if size, whole := abi.BlockSize(data); whole {
			if v, err := b.decode(data[:size]); err == nil {
				dst = append(append(dst, "    | "...), block...)
				dst = appendValue(append(dst, ' '), reflect.ValueOf(v))
				dst = append(dst, '\n')
				data = data[size:]
			}
		}
	}
	for len(data) > 0 {
		n := len(data)
		if i := strings.IndexByte(string(data), '\n'); i >= 0 {
			n = i + 1
		}
		dst = appendQuoted(append(dst, "    | "...), string(data[:n]))
		dst = append(dst, '\n')
		data = data[n:]
	}
	return dst
}

// readable is how long a text among other bytes is to stand by itself.
const readable = 24

// appendQuoted quotes a line in pieces: text stands in back quotes, so that
// JSON stays readable, and its line end and what is no text in double ones.
func appendQuoted(dst []byte, s string) []byte {
	line := strings.TrimRight(s, "\r\n")
	for from, i := 0, 0; i < len(s); {
		n := textLen(s[i:])
		if n < readable && (n == 0 || n < len(line)) {
			_, size := utf8.DecodeRuneInString(s[i+n:])
			if i += n + size; i >= len(s) {
				return strconv.AppendQuote(dst, s[from:])
			}
			continue
		}
		if i > from {
			dst = append(strconv.AppendQuote(dst, s[from:i]), ' ')
		}
		dst = append(append(append(dst, '`'), s[i:i+n]...), '`')
		if i += n; i < len(s) {
			dst = append(dst, ' ')
		}
		from = i
	}
	return dst
}

// textLen returns how many bytes at the start of s can stand in back quotes
// and be read.
func textLen(s string) int {
	for i, r := range s {
		if r == '`' || r == utf8.RuneError || !unicode.IsPrint(r) {
			return i
		}
	}
	return len(s)
}

// appendValue appends v as the JSON of the vectors: names begin in lower case,
// and what is empty is absent.
func appendValue(dst []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Struct:
		dst = append(dst, '{')
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				continue
			}
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			name := v.Type().Field(i).Name
			if name = strings.ToLower(name[:1]) + name[1:]; name == "iD" {
				name = "id"
			}
			dst = append(strconv.AppendQuote(dst, name), ':')
			dst = appendValue(dst, v.Field(i))
		}
		return append(dst, '}')
	case reflect.Slice:
		dst = append(dst, '[')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, v.Index(i))
		}
		return append(dst, ']')
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		panic(err) // the fields of blocks are texts, integers and booleans
	}
	return append(dst, text...)
}
