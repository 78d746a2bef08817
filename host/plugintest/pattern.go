package plugintest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// pattern is a framing that a profile describes.
type pattern struct{ profile *Profile }

func (p pattern) name() string { return "of the profile" }

func (p pattern) hear(_ *harness, heard []byte) (frame, error) {
	m := match(p.profile.sent, heard)
	if m == nil {
		if len(heard) > 4<<10 {
			return frame{}, fmt.Errorf("the guest wrote %s, expected what the profile describes (profile: sent)", short(heard))
		}
		return frame{}, nil
	}
	found := map[string]string{}
	capture(found, p.profile.sent, heard, m)
	n, err := p.profile.lengthForm().read([]byte(found["length"]))
	counted := found["counted"]
	switch n -= len(counted); {
	case err != nil:
		return frame{}, fmt.Errorf("the guest wrote %w (profile: sent, length)", err)
	case n < 0:
		return frame{}, fmt.Errorf("the guest wrote a length of %d, expected that it counts the %d bytes of %q (profile: sent, counted)", n+len(counted), len(counted), counted)
	}
	tail := toBytes(p.profile.SentEnd)
	end := m[1] + n + len(tail)
	if len(heard) < end {
		return frame{}, nil
	}
	if got := heard[m[1]+n : end]; !bytes.Equal(got, tail) {
		return frame{}, fmt.Errorf("after a message stands %s, expected %q (profile: sentEnd)", short(got), tail)
	}
	return frame{heard[m[1] : m[1]+n], end, found}, nil
}

func (p pattern) say(message []byte, values, answers map[string]string) ([]byte, error) {
	values = maps.Clone(values)
	maps.Copy(values, answers)
	text := p.profile.Said
	if answers == nil {
		text = cmp.Or(p.profile.Noted, text)
	}
	values["message"] = string(message)
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		if m[1] != "length" && !strings.HasPrefix(m[1], "length+") {
			continue
		}
		length, err := p.profile.lengthForm().write(len(message) + added(m[1], values))
		if err != nil {
			return nil, fmt.Errorf("to say a message: %w", err)
		}
		values[m[1]] = string(length)
	}
	return expand(text, values), nil
}

// A lengthForm is the way in which a wire writes lengths: in digits of a base, in a fixed number
// of bytes, or as a varint. A varint has groups of seven bits, the least significant first; the
// top bit of each byte says that another byte follows (MQTT, Protocol Buffers).
type lengthForm struct {
	name   string
	wanted string // what an error expects
	base   int    // of digits; 0 = bytes
	size   int    // in bytes; 0 = digits, or a varint
	little bool   // the least significant byte comes first
}

// lengthForms holds all forms by their names in a profile.
var lengthForms = func() map[string]*lengthForm {
	list := []*lengthForm{
		{name: "decimal", base: 10, wanted: "decimal digits"},
		{name: "hex", base: 16, wanted: "hexadecimal digits"},
		{name: "varint", wanted: fmt.Sprintf("groups of seven bits, the last of them below 0x80, and a value of at most %d", int64(maxLength))},
		{name: "u8", size: 1}, {name: "u16be", size: 2}, {name: "u16le", size: 2, little: true},
		{name: "u32be", size: 4}, {name: "u32le", size: 4, little: true},
		{name: "u64be", size: 8}, {name: "u64le", size: 8, little: true},
	}
	all := map[string]*lengthForm{}
	for _, f := range list {
		f.wanted = cmp.Or(f.wanted, fmt.Sprintf("%d bytes, and at most %d in them", f.size, int64(maxLength)))
		all[f.name] = f
	}
	return all
}()

// maxLength bounds what a length may say, so that sums of lengths do not overflow.
const maxLength = 1 << 40

// lengthForm returns the form of the lengths that the profile names, or nil if there is no such form.
func (p *Profile) lengthForm() *lengthForm { return lengthForms[cmp.Or(p.Length, "decimal")] }

// read returns the length that is written in p. It must take all of p.
func (f *lengthForm) read(p []byte) (int, error) {
	n, err := uint64(0), error(nil)
	switch {
	case f.base > 0:
		n, err = strconv.ParseUint(string(p), f.base, 64)
	case f.size == 0:
		var used int
		if n, used = binary.Uvarint(p); used <= 0 || used != len(p) {
			err = strconv.ErrSyntax
		}
	case f.size != len(p):
		err = strconv.ErrSyntax
	default:
		n = binary.BigEndian.Uint64(append(make([]byte, 8-f.size), f.ordered(p)...))
	}
	if err != nil || n > maxLength {
		return 0, fmt.Errorf("a length of %q, expected %s", p, f.wanted)
	}
	return int(n), nil
}

var errTooLong = errors.New("say the longest message that the wire carries (profile: largest)")

// write returns the length n as it is written on the wire.
func (f *lengthForm) write(n int) ([]byte, error) {
	switch {
	case f.base > 0:
		return strconv.AppendInt(nil, int64(n), f.base), nil
	case f.size == 0:
		return binary.AppendUvarint(nil, uint64(n)), nil
	case f.size < 8 && n>>(8*f.size) > 0:
		return nil, fmt.Errorf("a length of %d does not fit into %s (profile: length): %w", n, f.name, errTooLong)
	}
	return f.ordered(binary.BigEndian.AppendUint64(nil, uint64(n))[8-f.size:]), nil
}

// ordered brings p from the order with the most significant byte first into the order of the
// form, or back.
func (f *lengthForm) ordered(p []byte) []byte {
	if p = slices.Clone(p); f.little {
		slices.Reverse(p)
	}
	return p
}

// added returns what the terms of ${length+5+name} add to a length.
func added(sum string, values map[string]string) (n int) {
	for _, term := range strings.Split(sum, "+")[1:] {
		more, err := strconv.Atoi(term)
		if err != nil {
			more = len(values[term])
		}
		n += more
	}
	return n
}
