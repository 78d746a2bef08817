package wasm

import (
	"bytes"
	"fmt"
	"slices"
)

// read splits a binary into an image.
func read(binary []byte, limits Limits) (*image, error) {
	m := &image{limits: limits}
	if len(binary) > limits.Size {
		return nil, fmt.Errorf("the file has %d bytes, at most %d are taken", len(binary), limits.Size)
	}
	c := &cursor{b: binary}
	if string(c.take(8)) != "\x00asm\x01\x00\x00\x00" {
		return nil, fmt.Errorf("not a WebAssembly module of version 1")
	}
	last := -1 // place of the section before
	for c.more() && c.err == nil {
		id := c.u8()
		content := c.take(c.u32())
		if c.err == nil && id != sectionCustom {
			place := bytes.IndexByte(sectionsInOrder, id)
			if place <= last {
				c.fail("section %d is unknown, repeated or out of order", id)
			}
			last = place
		}
		if c.err == nil {
			if err := m.section(id, content); err != nil {
				return nil, fmt.Errorf("section %d: %w", id, err)
			}
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	if want := len(m.functions) - m.inherited[externFunction]; want != len(m.bodies) {
		return nil, fmt.Errorf("%d functions are declared, %d have bodies", want, len(m.bodies))
	}
	if n := len(m.functions); n > limits.Functions { // with the imported ones, of which no section counts them together
		return nil, newExcess("functions", uint64(n), limits.Functions, "")
	}
	return m, nil
}

func (m *image) section(id byte, content []byte) error {
	c, item, l := &cursor{b: content}, sectionNames[id], &m.limits
	if id != sectionCustom {
		m.content[id] = content
	}
	switch id {
	case sectionCustom:
		m.customs++
		c.atMost(item, uint64(m.customs), l.Customs, "")
		c.text()
		return c.err // what follows the name may be anything
	case sectionType:
		readAll(c, item, l.Types, &m.types, m.typeEntry)
	case sectionImport:
		readAll(c, item, l.Names, &m.imports, m.importEntry)
	case sectionFunction:
		readAll(c, item, l.Functions, &m.functions, m.typeIndex)
	case sectionTable:
		readAll(c, item, l.Tables, &m.tables, m.tableType)
	case sectionMemory:
		readAll(c, item, 1, &m.memories, readBounds)
	case sectionGlobal:
		for n := range c.entries(item, l.Globals) {
			m.globals = slices.Grow(m.globals, n)
			m.global(c)
			m.constant(c)
		}
	case sectionExport:
		readAll(c, item, l.Names, &m.exports, m.exportEntry)
	case sectionStart:
		m.function(c)
		m.starts = true
	case sectionElement:
		for range c.entries(item, l.Segments) {
			m.element(c)
			m.elements++
		}
	case sectionDataCount:
		m.counted = c.u32()
	case sectionCode:
		for n := range c.entries(item, l.Functions) {
			m.bodies = slices.Grow(m.bodies, n)
			m.body(c)
		}
	case sectionData:
		for range c.entries(item, l.Segments-m.elements) {
			m.data(c)
		}
	}
	if c.err == nil && c.more() {
		c.fail("%d bytes are left over", len(c.b)-c.at)
	}
	return c.err
}

// readAll reads the entries of a section, each with one, and appends them to to. most is their
// limit.
func readAll[T any](c *cursor, item string, most int, to *[]T, one func(*cursor) T) {
	for n := range c.entries(item, most) {
		*to = append(slices.Grow(*to, n), one(c))
	}
}
