package wasm

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// allocates returns how many bytes f allocates, those of other goroutines included.
func allocates(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// announcing is the content of a section that announces n entries.
func announcing(n uint32, entries ...any) []byte {
	return append(appendU32(nil, n), seq(entries...)...)
}

// TestLimitsEndTheReading: the first count over its limit is the only finding, and
// next to nothing is allocated on the way, whatever the file announces or holds.
func TestLimitsEndTheReading(t *testing.T) {
	const many = 1_500_000
	with := func(id byte, content []byte) build {
		b := one(get(0))
		b.raw = map[byte][]byte{id: content}
		return b
	}
	full := func(id byte, entry ...any) build {
		return with(id, announcing(many, bytes.Repeat(seq(entry...), many)))
	}
	endless := one(get(0))
	endless.tables, endless.elems = []bounds{{min: 0xffffffff}}, []uint32{0}
	for want, b := range map[string]build{
		"table: wanted at most 65536 entries, found 4294967295": endless,
		"types: wanted at most 10000, found 1500000":            full(sectionType, 0x60, 0, 0),
		"imports: wanted at most 1000, found 1500000":           full(sectionImport, 0, 0, 0, 0),
		"functions: wanted at most 20000, found 1500000":        full(sectionFunction, 0),
		"tables: wanted at most 8, found 1500000":               full(sectionTable, typeFunc, 0, 0),
		"memories: wanted at most 1, found 1500000":             full(sectionMemory, 0, 0),
		"globals: wanted at most 2000, found 1500000":           full(sectionGlobal, typeI32, 0, i32c(0), opEnd),
		"exports: wanted at most 1000, found 1500000":           full(sectionExport, 0, 0, 0),
		"element segments: wanted at most 100000":               full(sectionElement, 0, i32c(0), opEnd, 0),
		"function bodies: wanted at most 20000, found 1500000":  full(sectionCode, 2, 0, opEnd),
		"data segments: wanted at most 100000, found 1500000":   full(sectionData, 1, 0),
	} {
		binary := b.bytes()
		item, _, _ := strings.Cut(want, ":")
		t.Run(item, func(t *testing.T) {
			e, a := newEngine(t, plain), newExtism(t, extismConfig)
			var refused, unprepared error
			var findings []Finding
			taken := allocates(func() {
				_, refused = e.Load(t.Context(), "guest", binary)
				_, _, unprepared = a.Prepare("guest", Hash(binary), binary)
				_, findings, _ = Inspect(binary, plain)
			})
			for _, err := range []error{refused, unprepared} {
				var r *Refusal
				if !errors.As(err, &r) || len(r.Findings) != 1 || !strings.Contains(err.Error(), want) {
					t.Errorf("says %.200v, want %q", err, want)
				}
			}
			if len(findings) != 1 || !strings.HasPrefix(findings[0].String(), want) {
				t.Errorf("inspecting finds %v", findings)
			}
			if taken > 1<<20 {
				t.Errorf("%d bytes are allocated to refuse %d", taken, len(binary))
			}
		})
	}
}
