package pluginbuild

import (
	"bytes"
	"strings"
	"testing"
)

// section returns a section of a module.
func section(id byte, body ...byte) []byte {
	return append(appendU32([]byte{id}, len(body)), body...)
}

// data returns a data section.
func data(segments ...segment) []byte {
	body := appendU32(nil, len(segments))
	for _, s := range segments {
		body = append(appendS32(append(body, 0, opI32Const), int32(s.offset)), opEnd)
		body = append(appendU32(body, len(s.data)), s.data...)
	}
	return section(sectionData, body...)
}

func module(sections ...[]byte) []byte {
	return append(bytes.Clone(magic), bytes.Join(sections, nil)...)
}

var memory = section(sectionMemory, 1, 0, 1)

func TestJoin(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat("\x00", n) }
	for _, tt := range []struct {
		name     string
		in, want []segment
	}{
		{"none", nil, nil},
		{"one", []segment{{8, []byte("a")}}, []segment{{8, []byte("a")}}},
		{"touching", []segment{{8, []byte("ab")}, {10, []byte("c")}}, []segment{{8, []byte("abc")}}},
		{"a gap", []segment{{8, []byte("a")}, {12, []byte("b")}, {15, []byte("c")}},
			[]segment{{8, []byte("a" + zeros(3) + "b" + zeros(2) + "c")}}},
		{"the longest gap", []segment{{8, []byte("a")}, {9 + maxGap, []byte("b")}},
			[]segment{{8, []byte("a" + zeros(maxGap) + "b")}}},
		{"a longer gap", []segment{{8, []byte("a")}, {10 + maxGap, []byte("b")}},
			[]segment{{8, []byte("a")}, {10 + maxGap, []byte("b")}}},
		{"descending", []segment{{8, []byte("a")}, {4, []byte("b")}}, []segment{{4, []byte("b" + zeros(3) + "a")}}},
		{"overlapping", []segment{{8, []byte("abc")}, {9, []byte("x")}}, []segment{{8, []byte("abc")}, {9, []byte("x")}}},
		{"the far end", []segment{{1<<32 - 2, []byte("a")}, {1<<32 - 1, []byte("b")}}, []segment{{1<<32 - 2, []byte("ab")}}},
	} {
		custom := section(0, 4, 'n', 'a', 'm', 'e')
		got, before, after, err := Join(module(memory, data(tt.in...), custom))
		if want := module(memory, data(tt.want...), custom); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: % x, %v\nwant % x", tt.name, got, err, want)
		}
		if before != len(tt.in) || after != len(tt.want) {
			t.Errorf("%s: counted %d and %d", tt.name, before, after)
		}
		again, _, _, err := Join(got)
		if err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s: a second pass gave % x, %v", tt.name, again, err)
		}
	}
}

// Modules that could tell the difference are left as they are.
func TestJoinLeavesAlone(t *testing.T) {
	pair := data(segment{8, []byte("a")}, segment{9, []byte("b")})
	for name, m := range map[string][]byte{
		"a data count":         module(memory, section(sectionDataCount, 2), pair),
		"no memory of its own": module(pair),
		"no data":              module(memory),
	} {
		if got, _, _, err := Join(m); err != nil || !bytes.Equal(got, m) {
			t.Errorf("%s: % x, %v", name, got, err)
		}
	}
}

func TestJoinErrors(t *testing.T) {
	for name, m := range map[string][]byte{
		"empty":               {},
		"no magic":            []byte("\x00asm\x02\x00\x00\x00"),
		"section cut":         append(module(memory), sectionData, 9, 1),
		"no section size":     append(module(memory), sectionData),
		"count cut":           module(memory, section(sectionData)),
		"segment missing":     module(memory, section(sectionData, 1)),
		"passive segment":     module(memory, section(sectionData, 1, 1, 1, 'a')),
		"global offset":       module(memory, section(sectionData, 1, 0, 0x23, 0, opEnd, 1, 'a')),
		"endless offset":      module(memory, section(sectionData, 1, 0, opI32Const, 0x80, 0x80, 0x80, 0x80, 0x80, 0)),
		"data cut":            module(memory, section(sectionData, 1, 0, opI32Const, 0, opEnd, 2, 'a')),
		"bytes after the end": module(memory, section(sectionData, 0, 0)),
	} {
		if got, _, _, err := Join(m); err == nil {
			t.Errorf("%s: % x and no error", name, got)
		}
	}
}

// What comes out has the same bytes at the same places as what went in.
func FuzzJoin(f *testing.F) {
	f.Add(module(memory, data(segment{8, []byte("a")}, segment{12, []byte("b")})))
	f.Add(module(memory, data(segment{1 << 31, []byte("a")}, segment{3, []byte("b")})))
	f.Fuzz(func(t *testing.T, m []byte) {
		got, before, after, err := Join(m)
		if err != nil {
			return
		}
		if after > before {
			t.Fatalf("%d segments became %d", before, after)
		}
		if want, have := image(t, m), image(t, got); !mapsAgree(want, have) {
			t.Fatalf("memory %v became %v", want, have)
		}
	})
}

// image is what the data section of a module puts into memory, without zeros.
func image(t *testing.T, m []byte) map[uint64]byte {
	cells := make(map[uint64]byte)
	for rest := m[len(magic):]; len(rest) > 0; {
		id := rest[0]
		body, after, err := vector(rest[1:])
		if err != nil {
			t.Fatal(err)
		}
		rest = after
		if id != sectionData {
			continue
		}
		segments, err := parse(body)
		if err != nil {
			return nil // left alone, or it would have been an error
		}
		for _, s := range segments {
			for i, c := range s.data {
				cells[uint64(s.offset)+uint64(i)] = c
			}
		}
	}
	return cells
}

// mapsAgree compares two images; a cell without a byte is zero.
func mapsAgree(a, b map[uint64]byte) bool {
	for at, c := range a {
		if b[at] != c {
			return false
		}
	}
	for at, c := range b {
		if a[at] != c {
			return false
		}
	}
	return true
}
