package plugintest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// number is how a length is written on a wire. The zero value is decimal.
type number string

// numbers are all of them: the sizes in bytes of those that are binary, and 0 for
// digits.
var numbers = map[number]int{
	"": 0, "decimal": 0, "hex": 0, "u8": 1, "u16be": 2, "u16le": 2, "u32be": 4, "u32le": 4, "u64be": 8, "u64le": 8,
}

// longestLength bounds what a length may say, so that sums of it do not overflow.
const longestLength = 1 << 40

func (f number) known() bool  { _, ok := numbers[f]; return ok }
func (f number) binary() bool { return numbers[f] > 0 }

// base is that of the digits.
func (f number) base() int {
	if f == "hex" {
		return 16
	}
	return 10
}

// wanted says for people what a length has to look like.
func (f number) wanted() string {
	switch {
	case f.binary():
		return fmt.Sprintf("%d bytes, and at most %d in them", numbers[f], int64(longestLength))
	case f == "hex":
		return "hexadecimal digits"
	}
	return "decimal digits"
}

// read returns the length that p says.
func (f number) read(p []byte) (int, error) {
	n, err := uint64(0), error(nil)
	switch size := numbers[f]; {
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
	if err != nil || n > longestLength {
		return 0, fmt.Errorf("a length of %q, expected %s", p, f.wanted())
	}
	return int(n), nil
}

var errTooLong = errors.New("say the longest message that the wire carries (profile: largest), or how it goes on in the next frame (profile: part, partSize)")

// write returns how the length n is said.
func (f number) write(n int) ([]byte, error) {
	size := numbers[f]
	if size == 0 {
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
