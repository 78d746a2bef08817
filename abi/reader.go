package abi

import "encoding/binary"

// reader finds the fields of a block and leaves them where they are. It is made for guests: it
// avoids what is expensive in a Wasm module of Go, which are calls, jumps, stores of pointers
// and the clearing of memory. It is as strict as a decoder about the form of a block, but trusts
// the host that a text is UTF-8.
type reader struct {
	block []byte
	seen  uint32               // the tags that stand in the block, one bit each
	spans [factHeader + 1]span // by tag; of one that may stand often, its first
}

// span is the place of a value in its block.
type span struct{ at, size uint32 }

// read finds the fields of the block at the start of b. It knows the tags up to last; the tag
// last may stand any number of times.
func (r *reader) read(name string, b []byte, last uint16) error {
	size, ok := BlockSize(b)
	if !ok {
		return &DecodeError{Block: name, Reason: "the block is cut short"}
	}
	b = b[:size]
	at, seen := blockHeader, uint32(0)
	for at+fieldHeader <= len(b) {
		tag, n := binary.LittleEndian.Uint16(b[at:]), uint64(binary.LittleEndian.Uint32(b[at+2:]))
		if n > uint64(len(b)-at-fieldHeader) {
			return &DecodeError{Block: name, Offset: at, Reason: "a field is longer than its block"}
		}
		at += fieldHeader
		if tag-1 < last { // false for the tag 0
			if bit := uint32(1) << tag; seen&bit == 0 {
				seen |= bit
				r.spans[tag] = span{uint32(at), uint32(n)}
			} else if tag != last {
				return &DecodeError{Block: name, Offset: at, Reason: "a field stands twice"}
			}
		}
		at += int(n)
	}
	if at != len(b) {
		return &DecodeError{Block: name, Offset: at, Reason: "a field header is cut short"}
	}
	r.block, r.seen = b, seen
	return nil
}

// bytes returns the value of a tag, or nil.
func (r *reader) bytes(tag uint16) []byte {
	if r.seen&(1<<tag) == 0 {
		return nil
	}
	s := r.spans[tag]
	return r.block[s.at : s.at+s.size]
}

// u32 returns the integer of a tag, or 0.
func (r *reader) u32(tag uint16) uint32 {
	if v := r.bytes(tag); len(v) == 4 {
		return binary.LittleEndian.Uint32(v)
	}
	return 0
}

// first returns where the first field of a tag begins, or the end of the block.
func (r *reader) first(tag uint16) int {
	if r.seen&(1<<tag) == 0 {
		return len(r.block)
	}
	return int(r.spans[tag].at) - fieldHeader
}

// field returns the field that begins at an offset, its header included.
func (r *reader) field(at int) []byte {
	b := r.block[at:]
	return b[:fieldHeader+int(binary.LittleEndian.Uint32(b[2:]))]
}

// pairs calls yield for each pair of a tag.
func (r *reader) pairs(tag uint16, yield func(key, value []byte) bool) {
	for at := r.first(tag); at < len(r.block); {
		field := r.field(at)
		if binary.LittleEndian.Uint16(field) == tag {
			if key, value, ok := split(field[fieldHeader:]); !ok || !yield(key, value) {
				return
			}
		}
		at += len(field)
	}
}

// value returns the value of the first pair of a tag that has that key, or nil.
func (r *reader) value(tag uint16, name string) []byte {
	for at := r.first(tag); at < len(r.block); {
		field := r.field(at)
		if binary.LittleEndian.Uint16(field) == tag {
			if key, value, ok := split(field[fieldHeader:]); ok && string(key) == name {
				return value
			}
		}
		at += len(field)
	}
	return nil
}

// split takes a pair apart.
func split(v []byte) (key, value []byte, ok bool) {
	if len(v) < 4 {
		return nil, nil, false
	}
	n := uint64(binary.LittleEndian.Uint32(v))
	if v = v[4:]; n > uint64(len(v)) {
		return nil, nil, false
	}
	return v[:n], v[n:], true
}

// FactsReader reads [Facts] in place. The slices that it returns are parts of the block that was
// read last, and are valid as long as that is.
type FactsReader struct{ r reader }

// Read finds the facts in the block at the start of b.
func (f *FactsReader) Read(b []byte) error { return f.r.read("facts", b, factHeader) }

// Kind says if the message is a request, a notification or a reply.
func (f *FactsReader) Kind() MessageKind { return MessageKind(f.r.u32(factKind)) }

// ID returns the raw JSON token of the id. It is empty for notifications.
func (f *FactsReader) ID() []byte { return f.r.bytes(factID) }

// Method returns the method. It is empty for replies.
func (f *FactsReader) Method() []byte { return f.r.bytes(factMethod) }

// Name returns params.name or params.uri. It is empty if the message has neither.
func (f *FactsReader) Name() []byte { return f.r.bytes(factName) }

// Version returns the protocol version of the message. It is empty before the
// handshake.
func (f *FactsReader) Version() []byte { return f.r.bytes(factVersion) }

// Epoch returns how many handshakes there were before the message.
func (f *FactsReader) Epoch() uint32 { return f.r.u32(factEpoch) }

// Headers calls yield for each header that mirrors a part of the message. Use it with
// range.
func (f *FactsReader) Headers(yield func(key, value []byte) bool) { f.r.pairs(factHeader, yield) }

// HeadReader reads a [Head] like a [FactsReader] reads facts.
type HeadReader struct{ r reader }

// Read finds the head in the block at the start of b.
func (h *HeadReader) Read(b []byte) error { return h.r.read("head", b, headHeader) }

// Headers calls yield for each header. Use it with range.
func (h *HeadReader) Headers(yield func(key, value []byte) bool) { h.r.pairs(headHeader, yield) }

// Value returns the first header of that name, or nil.
func (h *HeadReader) Value(name string) []byte { return h.r.value(headHeader, name) }
