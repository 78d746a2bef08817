package wasm

import (
	"errors"
	"fmt"
	"strings"
)

// Info describes a module, for people.
type Info struct {
	Functions int      // imported ones included
	MinPages  uint32   // memory pages of 64 KiB it starts with
	MaxPages  uint32   // the most pages that it declares; 0 for no limit
	Imports   []string // "wharf1.take (i32, i32) -> (i32)"
	Exports   []string //
}

// memoryExport is the name under which a module shares its memory.
const memoryExport = "memory"

// initialize is the export that runs once, before all others, if it exists.
const initialize = "_initialize"

// Inspect reads a module without running it. It returns what the module is, and everything for
// which Load would refuse it under the default limits. The first limit that is exceeded ends the
// reading: Info lacks what follows it in the binary. The error is for a binary that cannot be read
// at all.
func Inspect(binary []byte, s ABI) (Info, []Finding, error) {
	m, err := read(binary, defaultLimits)
	var over *excess
	if errors.As(err, &over) {
		return Info{}, []Finding{over.Finding}, nil
	}
	if err != nil {
		return Info{}, nil, err
	}
	m.scanAll()
	m.validate(s)
	return m.info(), m.findings.list, nil
}

// validate compares the sections of m with the ABI. scanAll reads the bodies.
func (m *image) validate(s ABI) {
	if m.starts {
		m.findings.add("start section", "", "code that runs before the host asks is refused; use "+initialize)
	}
	m.validateImports(append(s.hostFuncs(), wasi...))
	m.validateExports(s)
	m.refuseReservedNames()
}

func (m *image) validateImports(offers []hostFunc) {
	offered := map[string]hostFunc{}
	for _, f := range offers {
		offered[f.module+"."+f.name] = f
	}
	for _, i := range m.imports {
		item := "import " + quote(i.module+"."+i.name)
		if i.kind != externFunction {
			m.findings.add(item, "functions only", "a "+kindNames[i.kind])
			continue
		}
		f, ok := offered[i.module+"."+i.name]
		switch found := m.types[i.typ]; {
		case !ok:
			m.findings.add(item, "", "there is no such function")
		case found != f.signature:
			m.findings.add(item, f.signature.String(), found.String())
		}
	}
}

var kindNames = [...]string{"function", "table", "memory", "global"}

func (m *image) validateExports(s ABI) {
	found := make(map[string]exported, len(m.exports))
	for _, e := range m.exports {
		if _, twice := found[e.name]; twice {
			m.findings.add("export "+quote(e.name), "one of that name", "two")
		}
		found[e.name] = e
	}
	switch _, ok := found[s.Marker]; {
	case s.Marker == "":
	case ok:
		m.validateExport(Export{Name: s.Marker}, found)
	default:
		item, why := m.otherMarker(s)
		m.findings.add(item, "", why)
	}
	if e, ok := found[memoryExport]; !ok || e.kind != externMemory {
		m.findings.add("export "+quote(memoryExport), "the memory of the module", "no such export")
	}
	m.validateMemorySize()
	m.validateExport(Export{Name: initialize, Optional: true}, found)
	for _, e := range s.Exports {
		m.validateExport(e, found)
	}
}

// otherMarker distinguishes a plugin for another version of the ABI from a module that
// is not a plugin.
func (m *image) otherMarker(s ABI) (item, why string) {
	speaks := strings.TrimPrefix(s.Marker, s.MarkerPrefix)
	for _, e := range m.exports {
		if version, ok := strings.CutPrefix(e.name, s.MarkerPrefix); ok {
			return "export " + quote(e.name), fmt.Sprintf("built for ABI %s, this host speaks %s", printable(version), speaks)
		}
	}
	return "export " + quote(s.Marker), "missing: not a Wharf plugin"
}

func printable(s string) string { q := quote(s); return q[1 : len(q)-1] }

func (m *image) validateMemorySize() {
	for _, b := range m.memories {
		if b.min > m.limits.MemoryPages {
			m.findings.add("memory", fmt.Sprintf("at most %d pages of 64 KiB", m.limits.MemoryPages), fmt.Sprint(b.min))
		}
	}
}

func (m *image) validateExport(e Export, found map[string]exported) {
	item, sig := "export "+quote(e.Name), i32s(e.Params, e.HasResult)
	switch x, ok := found[e.Name]; {
	case !ok && !e.Optional:
		m.findings.add(item, sig.String(), "no such export")
	case !ok:
	case x.kind != externFunction:
		m.findings.add(item, sig.String(), "a "+kindNames[x.kind])
	case m.types[m.functions[x.index]] != sig:
		m.findings.add(item, sig.String(), m.types[m.functions[x.index]].String())
	}
}

// refuseReservedNames refuses exports under names that the meter uses.
func (m *image) refuseReservedNames() {
	for _, e := range m.exports {
		if strings.HasPrefix(e.name, reservedPrefix) {
			m.findings.add("export "+quote(e.name), "no name that begins with "+reservedPrefix, "")
		}
	}
}

func (m *image) info() Info {
	i := Info{Functions: len(m.functions)}
	for _, b := range m.memories {
		i.MinPages, i.MaxPages = b.min, b.max
	}
	for _, x := range m.imports {
		i.Imports = append(i.Imports, m.describe(x.module+"."+x.name, x.kind, x.typ))
	}
	for _, e := range m.exports {
		typ := uint32(0)
		if e.kind == externFunction {
			typ = m.functions[e.index]
		}
		i.Exports = append(i.Exports, m.describe(e.name, e.kind, typ))
	}
	return i
}

func (m *image) describe(name string, kind byte, typ uint32) string {
	if kind != externFunction {
		return printable(name) + " " + kindNames[kind]
	}
	return printable(name) + " " + m.types[typ].String()
}

// HasExport reports whether a module exports a function of that name. It reads the
// export section and nothing else: the module may be invalid.
func HasExport(binary []byte, name string) bool {
	const header, exports, function = 8, 7, 0
	c := &cursor{b: binary, at: header}
	for c.more() {
		id := c.u8()
		content := c.take(c.u32())
		if id != exports {
			continue
		}
		e := &cursor{b: content}
		for n := e.count(); n > 0 && e.err == nil; n-- {
			found, kind := e.text(), e.u8()
			e.u32()
			if string(found) == name && kind == function && e.err == nil {
				return true
			}
		}
		return false
	}
	return false
}
