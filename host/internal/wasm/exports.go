package wasm

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
