package plugintest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// lengthForm is how a length is written on a wire. The zero value is decimal.
type lengthForm string

// varint is a length in groups of seven bits, the least significant first. The top bit
// of each byte says that another byte follows (MQTT, Protocol Buffers).
const varint lengthForm = "varint"

// fixedSizes has the number of bytes of the forms that always have as many.
var fixedSizes = map[lengthForm]int{"u8": 1, "u16be": 2, "u16le": 2, "u32be": 4, "u32le": 4, "u64be": 8, "u64le": 8}

// maxLength bounds what a length may say, so that sums of lengths do not overflow.
const maxLength = 1 << 40

func lengthForms() []string {
	forms := []string{"decimal", "hex", string(varint)}
	for _, f := range slices.Sorted(maps.Keys(fixedSizes)) {
		forms = append(forms, string(f))
	}
	return forms
}

func (f lengthForm) known() bool  { return f == "" || slices.Contains(lengthForms(), string(f)) }
func (f lengthForm) binary() bool { return fixedSizes[f] > 0 || f == varint }

func (f lengthForm) base() int {
	if f == "hex" {
		return 16
	}
	return 10
}

// wanted says in an error how a length is written.
func (f lengthForm) wanted() string {
	switch {
	case f == varint:
		return fmt.Sprintf("groups of seven bits, the last of them below 0x80, and a value of at most %d", int64(maxLength))
	case f.binary():
		return fmt.Sprintf("%d bytes, and at most %d in them", fixedSizes[f], int64(maxLength))
	case f == "hex":
		return "hexadecimal digits"
	}
	return "decimal digits"
}

// read returns the length that p says, all of p.
func (f lengthForm) read(p []byte) (int, error) {
	n, err := uint64(0), error(nil)
	switch size := fixedSizes[f]; {
	case f == varint:
		var used int
		if n, used = binary.Uvarint(p); used <= 0 || used != len(p) {
			err = strconv.ErrSyntax
		}
	case size == 0:
		n, err = strconv.ParseUint(string(p), f.base(), 64)
	case size != len(p):
		err = strconv.ErrSyntax
	default:
		if p = slices.Clone(p); strings.HasSuffix(string(f), "le") {
			slices.Reverse(p)
		}
		n = binary.BigEndian.Uint64(append(make([]byte, 8-size), p...))
	}
	if err != nil || n > maxLength {
		return 0, fmt.Errorf("a length of %q, expected %s", p, f.wanted())
	}
	return int(n), nil
}

var errTooLong = errors.New("say the longest message that the wire carries (profile: largest)")

// write returns the length n as it is written on the wire.
func (f lengthForm) write(n int) ([]byte, error) {
	size := fixedSizes[f]
	switch {
	case f == varint:
		return binary.AppendUvarint(nil, uint64(n)), nil
	case size == 0:
		return strconv.AppendInt(nil, int64(n), f.base()), nil
	}
	p := binary.BigEndian.AppendUint64(nil, uint64(n))
	if slices.ContainsFunc(p[:8-size], func(b byte) bool { return b != 0 }) {
		return nil, fmt.Errorf("a length of %d does not fit into %s (profile: length): %w", n, f, errTooLong)
	}
	if p = p[8-size:]; strings.HasSuffix(string(f), "le") {
		slices.Reverse(p)
	}
	return p, nil
}

// setLengths stores in values what each ${length…} of a text says about a message of n
// bytes, plus the numbers, and the sizes of the values, that are added to it.
func (f lengthForm) setLengths(text string, n int, values map[string]string) error {
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		terms := strings.Split(m[1], "+")
		if terms[0] != "length" {
			continue
		}
		sum := n
		for _, term := range terms[1:] {
			more, err := strconv.Atoi(term)
			if err != nil {
				more = len(values[term])
			}
			sum += more
		}
		said, err := f.write(sum)
		if err != nil {
			return err
		}
		values[m[1]] = string(said)
	}
	return nil
}
