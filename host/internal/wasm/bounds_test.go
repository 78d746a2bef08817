package wasm

import (
	"bytes"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

var hostile = flag.Bool("hostile", false, "say what looking at the dearest of the hostile files took")

// validateMost is what looking at a file of up to 8 MB may allocate.
const validateMost = 64 << 20

// A file is at most so large.
const fileMost = 8 << 20

// filled is one(get(0)) with a section of as many entries as fit into a file.
func filled(id byte, entry ...any) build {
	one := seq(entry...)
	n := (fileMost - 200) / len(one)
	return section(id, announcing(uint32(n), bytes.Repeat(one, n)))
}

// section is one(get(0)) with the given content of a section.
func section(id byte, content []byte) build {
	b := one(get(0))
	b.raw = map[byte][]byte{id: content}
	return b
}

// filledBodies is as many functions as fit into a file, each with as many of these
// instructions as fit into size bytes.
func filledBodies(size int, part ...any) build {
	unit := seq(part...)
	n := max((size-8)/len(unit), 1)
	b := one(get(0))
	b.tables, b.elems = []bounds{{min: 1}}, []uint32{0}
	b.data, b.raw = []string{"x"}, map[byte][]byte{sectionDataCount: {1}}
	f := fn{typ: nullary, locals: []uint32{4}, code: bytes.Repeat(unit, n)}
	for range min((fileMost-1000)/(len(f.code)+12), 19_900) {
		b.funcs = append(b.funcs, f)
	}
	return b
}

// hostileFiles are files of up to 8 MB that make a reader allocate or work as much as
// their kind can: sections that announce what they do not hold, sections that are
// full of the smallest entries there are, and everything that has no single limit of
// its own, at the limits of everything else.
func hostileFiles() map[string][]byte {
	files := map[string][]byte{}
	for id := range byte(sectionDataCount + 1) {
		name := "announced " + sectionNames[id]
		files[name] = section(id, appendU32(nil, 1<<32-1)).bytes()
		files[name+", with bytes behind"] = section(id, announcing(7<<20, make([]byte, 7<<20))).bytes()
	}
	long := strings.Repeat("n", fileMost-200)
	name := strings.Repeat("n", 8000)
	hundred := strings.Repeat(i32, 100)
	for what, b := range map[string]build{
		"full of types":                 filled(sectionType, 0x60, 0, 0),
		"full of types with values":     filled(sectionType, 0x60, 100, []byte(hundred), 100, []byte(hundred)),
		"full of imports":               filled(sectionImport, 0, 0, 0, 0),
		"full of imported globals":      filled(sectionImport, 0, 0, 3, typeI32, 0),
		"full of functions":             filled(sectionFunction, 0),
		"full of tables":                filled(sectionTable, typeFunc, 0, 0),
		"full of memories":              filled(sectionMemory, 0, 0),
		"full of globals":               filled(sectionGlobal, typeI32, 0, i32c(0), opEnd),
		"full of exports":               filled(sectionExport, 0, 0, 0),
		"full of active elements":       filled(sectionElement, 0, i32c(0), opEnd, 0),
		"full of passive elements":      filled(sectionElement, 1, 0, 0),
		"full of element expressions":   section(sectionElement, announcing(1, 5, typeFunc, appendU32(nil, 2<<20), repeat(2<<20, 0xd2, 0, opEnd))),
		"full of entries":               section(sectionElement, announcing(1, 1, 0, appendU32(nil, 8_000_000), make([]byte, 8_000_000))),
		"full of bodies":                filled(sectionCode, 2, 0, opEnd),
		"full of data segments":         filled(sectionData, 1, 0),
		"one import with a long name":   section(sectionImport, announcing(1, appendName(nil, long), 0, 0, 0)),
		"one export with a long name":   section(sectionExport, announcing(1, appendName(nil, long), 0, 0)),
		"1,000 imports with long names": section(sectionImport, announcing(1000, repeat(1000, appendName(nil, name), 0, 0, 0))),
		"1,000 exports with long names": section(sectionExport, announcing(1000, repeat(1000, appendName(nil, name), 0, 0))),
		"10,000 types with values":      section(sectionType, announcing(10_000, repeat(10_000, 0x60, 100, []byte(hundred), 100, []byte(hundred)))),
		"10,000 globals":                section(sectionGlobal, announcing(10_000, repeat(10_000, typeV128, 1, opVectorPrefix, 0x0c, make([]byte, 16), opEnd))),
		"100,000 data segments":         section(sectionData, announcing(100_000, repeat(100_000, 0, i32c(0), opEnd, 70, make([]byte, 70)))),
		"64,000 passive elements":       section(sectionElement, announcing(64_000, repeat(64_000, 1, 0, 1, 0))),
		"groups of no locals":           section(sectionCode, announcing(1, appendU32(nil, 500_003), appendU32(nil, 250_000), repeat(250_000, 0, typeI32), opEnd)),
		"19,900 functions":              filledBodies(400, 0x01),
		"19,900 malformed functions":    filledBodies(400, 0x0b),
		"19,900 functions with locals":  filledBodies(20, 0x01),
		"no-ops":                        filledBodies(500<<10, 0x01),
		"locals that are read":          filledBodies(500<<10, get(0), 0x1a),
		"additions":                     filledBodies(200<<10, get(0), get(1), 0x6a, 0x1a),
		"returns":                       filledBodies(500<<10, opReturn),
		"branches":                      filledBodies(500<<10, opBr, 0),
		"few branches":                  filledBodies(3000, get(0), opBrIf, 0),
		"blocks":                        filledBodies(500<<10, opBlock, blockEmpty, opEnd),
		"few blocks":                    filledBodies(300, opBlock, blockEmpty, opEnd),
		"few loops":                     filledBodies(300, opLoop, blockEmpty, get(0), 0x1a, opEnd),
		"few conditions":                filledBodies(300, get(0), opIf, blockEmpty, opElse, opEnd),
		"blocks in blocks":              filledBodies(500<<10, opBlock, blockEmpty),
		"labels":                        filledBodies(12<<10, get(0), opBrTable, appendU32(nil, 10_000), make([]byte, 10_001)),
		"references":                    filledBodies(500<<10, opRefFunc, 0, 0x1a),
		"unreachable references":        filledBodies(500<<10, 0x00, opRefFunc, 0),
		"indirect calls":                filledBodies(60<<10, opCallIndirect, 0, 0),
		"calls":                         filledBodies(60<<10, opCall, 1),
		"fills":                         filledBodies(6<<10, opMiscPrefix, 0x0b, 0),
		"loads":                         filledBodies(40<<10, get(0), 0x28, 2, 0, 0x1a),
		"constants":                     filledBodies(500<<10, opI64Const, bytes.Repeat([]byte{0xff}, 9), 0x7f, 0x1a),
		"padded numbers":                filledBodies(500<<10, opLocalGet, 0x80, 0x80, 0x80, 0x80, 0, 0x1a),
		"vectors":                       filledBodies(200<<10, opVectorPrefix, 0x0c, make([]byte, 16), 0x1a),
	} {
		files[what] = b.bytes()
	}
	header := one(get(0)).bytes()[:8]
	files["full of custom sections"] = append(header, repeat((fileMost-8)/3, sectionCustom, 1, 0)...)
	files["one custom section"] = append(header[:8:8], seq(sectionCustom, appendU32(nil, uint32(len(long)+4)), appendName(nil, long))...)
	return files
}

// mutations are large honest modules with some bytes changed, cut off, or padded with
// a custom section to the size of a file.
func mutations(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	random, changes := rand.New(rand.NewPCG(7, 8)), 8
	if !testenv.Long() && !*hostile {
		changes = 3
	}
	for _, plugin := range []string{"oauth", "sse", "http"} {
		sound := plugins.Builtin()[plugin]()
		pad := fileMost - len(sound) - 8
		files[plugin+", padded"] = append(bytes.Clone(sound), seq(sectionCustom, appendU32(nil, uint32(pad)), make([]byte, pad))...)
		files[plugin+", cut"] = sound[:len(sound)/2]
		for n := range changes {
			changed := bytes.Clone(sound)
			for range 1 + n*n {
				changed[8+random.IntN(len(changed)-8)] = byte(random.Uint32())
			}
			files[plugin+", changed "+strings.Repeat("more ", n)] = changed
		}
	}
	return files
}

// TestLookingIsBounded looks at hostile files as the host looks at those of strangers:
// in all, and at what they export, which is asked first. The bytes are asserted; the
// time is said under -hostile, and belongs under 100 ms on a machine that is idle.
func TestLookingIsBounded(t *testing.T) {
	s := plain
	s.MarkerPrefix, s.Marker = "wharf_abi_", "wharf_abi_1"
	files := hostileFiles()
	maps.Copy(files, mutations(t))
	var most uint64
	var longest time.Duration
	var greedy, slow string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		binary := files[name]
		if len(binary) > fileMost+200 {
			t.Fatalf("%s: a file of %d bytes", name, len(binary))
		}
		begun := time.Now()
		taken := allocates(func() {
			HasExport(binary, "step")
			_, _, _ = Inspect(binary, s)
		})
		if took := time.Since(begun); took > longest {
			longest, slow = took, name
		}
		if taken > most {
			most, greedy = taken, name
		}
		if taken > validateMost {
			t.Errorf("%s: %d bytes are allocated for looking at %d", name, taken, len(binary))
		}
	}
	if *hostile {
		t.Logf("looking at %d files of up to 8 MB: at most %.1f MB are allocated (%s), and %.1f ms taken (%s)",
			len(files), float64(most)/(1<<20), greedy, float64(longest.Microseconds())/1000, slow)
	}
}
