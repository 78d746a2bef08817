package wasm

import (
	"cmp"
	"slices"
)

// gap is the most zero bytes written between two segments to make them one. A
// segment costs a module about six bytes, and the host 24 bytes per instance
// and a step at every start.
const gap = 64

// MergeData returns binary with neighbouring data segments made one. The Go
// linker writes a segment for every run of bytes that are not zero, some twenty
// thousand; merging halves the start of an instance. It is for building
// plugins: the result is the plugin, and has its own hash.
//
// Memory is the same after it as long as no segment writes over another and
// memory starts out as zeros; where that is not plain to see, and where code
// refers to segments by number, binary is returned as it is.
func MergeData(binary []byte) ([]byte, error) {
	m, err := read(binary, Limits{Size: len(binary) + 1, Segments: len(binary) + 1}.filled())
	if err != nil {
		return nil, err
	}
	merged, ok := m.mergedData()
	if !ok {
		return binary, nil
	}
	out := append(make([]byte, 0, len(binary)), binary[:8]...)
	for _, s := range m.sections {
		content := s.content
		switch s.id {
		case sectionDataCount:
			continue // only code that names segments needs it, and there is none
		case sectionData:
			content = merged
		}
		out = append(appendU32(append(out, s.id), uint32(len(content))), content...)
	}
	return out, nil
}

// mergedData is the content of the data section after merging.
func (m *image) mergedData() ([]byte, bool) {
	if len(m.datas) < 2 || m.namesSegments() || m.inherited[externMemory] > 0 {
		return nil, false
	}
	sorted := slices.SortedFunc(slices.Values(m.datas), func(a, b segment) int { return cmp.Compare(a.offset, b.offset) })
	var all []segment
	end := uint64(0)
	for _, s := range sorted {
		hole := uint64(s.offset) - end
		switch last := len(all) - 1; {
		case !s.constant || uint64(s.offset) < end:
			return nil, false
		case last < 0 || hole > gap:
			all = append(all, segment{offset: s.offset, bytes: slices.Clone(s.bytes)})
		default:
			all[last].bytes = append(append(all[last].bytes, make([]byte, hole)...), s.bytes...)
		}
		end = uint64(s.offset) + uint64(len(s.bytes))
	}
	out := appendU32(nil, uint32(len(all)))
	for _, s := range all {
		out = appendS64(append(out, 0, opI32Const), int64(int32(s.offset)))
		out = append(appendU32(append(out, opEnd), uint32(len(s.bytes))), s.bytes...)
	}
	return out, true
}

// namesSegments reports whether any body names a data segment, or cannot be
// read, in which case nobody knows.
func (m *image) namesSegments() bool {
	found := len(m.findings.list)
	for _, s := range m.scanAll() {
		if s == nil || s.segments {
			return true
		}
	}
	m.findings.list = m.findings.list[:found]
	return false
}
