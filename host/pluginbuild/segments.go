package pluginbuild

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// The sections of a module that Join reads (WebAssembly 2.0, 5.5.2).
const (
	sectionMemory    = 5
	sectionData      = 11
	sectionDataCount = 12

	opI32Const = 0x41
	opEnd      = 0x0b
)

// maxGap is the longest run of zeros that is written out to join two segments. A segment of its
// own costs the host several times as much.
const maxGap = 64

var magic = []byte("\x00asm\x01\x00\x00\x00")

var errCut = errors.New("the module is cut short")

// segment is an active data segment: bytes for the memory at an offset.
type segment struct {
	offset uint32
	data   []byte
}

func (s segment) end() uint64 { return uint64(s.offset) + uint64(len(s.data)) }

// Join returns a module of the Go toolchain with its data segments joined where at most maxGap
// bytes lie between them. It also returns the number of segments before and after. A gap is
// filled with the zeros that a fresh memory has there anyway, so the module behaves as before,
// and a second pass changes nothing. A module that could behave differently is returned
// unchanged: one with a data count section, whose code may refer to segments; one without a
// memory of its own; and one whose segments overlap.
//
// Go leaves out every run of zeros in the data of a program, which makes tens of thousands of
// segments. A host keeps an object for each of them. With joined segments, a plugin starts in
// half the time and takes half the memory.
func Join(module []byte) (out []byte, before, after int, err error) {
	rest, ok := bytes.CutPrefix(module, magic)
	if !ok {
		return nil, 0, 0, errors.New("this is not a WebAssembly module")
	}
	out = append(out, magic...)
	var seen [256]bool
	for len(rest) > 0 {
		id := rest[0]
		body, behind, err := vector(rest[1:])
		if err != nil {
			return nil, 0, 0, err
		}
		rest, seen[id] = behind, true
		if id == sectionData && seen[sectionMemory] && !seen[sectionDataCount] {
			if body, before, after, err = joinSection(body); err != nil {
				return nil, 0, 0, fmt.Errorf("data section: %w", err)
			}
		}
		out = append(appendU32(append(out, id), len(body)), body...)
	}
	return out, before, after, nil
}

// joinSection joins the segments in the body of a data section.
func joinSection(body []byte) (out []byte, before, after int, err error) {
	segments, err := parse(body)
	if err != nil {
		return nil, 0, 0, err
	}
	before = len(segments)
	joined, ok := joinSegments(segments)
	if !ok {
		return body, before, before, nil
	}
	out = appendU32(nil, len(joined))
	for _, s := range joined {
		out = append(out, 0, opI32Const)
		out = append(appendS32(out, int32(s.offset)), opEnd)
		out = append(appendU32(out, len(s.data)), s.data...)
	}
	return out, before, len(joined), nil
}

// joinSegments sorts and joins segments. ok is false if some overlap, since their order then
// matters.
func joinSegments(segments []segment) (joined []segment, ok bool) {
	slices.SortStableFunc(segments, func(a, b segment) int { return cmp.Compare(a.offset, b.offset) })
	own := false // the bytes of the last one are a copy, and no view into the module
	for _, s := range segments {
		if len(joined) == 0 || uint64(s.offset) > joined[len(joined)-1].end()+maxGap {
			joined, own = append(joined, s), false
			continue
		}
		last := &joined[len(joined)-1]
		end := last.end()
		if uint64(s.offset) < end {
			return nil, false
		}
		if !own {
			last.data, own = slices.Clone(last.data), true
		}
		last.data = append(append(last.data, make([]byte, uint64(s.offset)-end)...), s.data...)
	}
	return joined, true
}

// parse reads the segments of a data section. It understands only those that Go writes: active
// ones at a constant offset.
func parse(body []byte) ([]segment, error) {
	count, rest, err := u32(body)
	if err != nil {
		return nil, err
	}
	var segments []segment
	for i := range count {
		if len(rest) < 2 || rest[0] != 0 || rest[1] != opI32Const {
			return nil, fmt.Errorf("segment %d is not at a constant offset; leave this module as it is", i)
		}
		var s segment
		offset, n := s32(rest[2:])
		rest = rest[2+n:]
		if n == 0 || len(rest) == 0 || rest[0] != opEnd {
			return nil, fmt.Errorf("segment %d has no plain constant for an offset; leave this module as it is", i)
		}
		s.offset = uint32(offset)
		if s.data, rest, err = vector(rest[1:]); err != nil {
			return nil, err
		}
		segments = append(segments, s)
	}
	if len(rest) > 0 {
		return nil, errors.New("bytes follow its last segment")
	}
	return segments, nil
}

// vector reads a length and that many bytes.
func vector(b []byte) (body, rest []byte, err error) {
	n, b, err := u32(b)
	if err != nil {
		return nil, nil, err
	}
	if uint64(n) > uint64(len(b)) {
		return nil, nil, errCut
	}
	return b[:n:n], b[n:], nil
}

// u32 reads an unsigned LEB128 number.
func u32(b []byte) (n uint32, rest []byte, err error) {
	wide, size := binary.Uvarint(b[:min(len(b), 5)])
	if size <= 0 || wide > 1<<32-1 {
		return 0, nil, errCut
	}
	return uint32(wide), b[size:], nil
}

func appendU32(dst []byte, n int) []byte { return binary.AppendUvarint(dst, uint64(n)) }

// s32 reads a signed LEB128 number; size is 0 where no number is.
func s32(b []byte) (n int32, size int) {
	var wide int64
	for i, c := range b[:min(len(b), 5)] {
		wide |= int64(c&0x7f) << (7 * i)
		if c&0x80 == 0 {
			shift := 64 - 7*(i+1)
			return int32(wide << shift >> shift), i + 1
		}
	}
	return 0, 0
}

func appendS32(dst []byte, n int32) []byte {
	for ; n < -64 || n > 63; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n)&0x7f)
}
