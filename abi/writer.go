package abi

import "encoding/binary"

// OpenWriter writes open requests that begin alike, for a guest that sends one with each
// message. It uses its buffer again.
type OpenWriter struct{ buf []byte }

// Begin starts a new request with the fields of r.
func (w *OpenWriter) Begin(r *OpenRequest) { w.buf = AppendOpenRequest(w.buf[:0], r) }

// Mirror adds the headers of f, unchanged.
func (w *OpenWriter) Mirror(f *FactsReader) {
	r := &f.r
	for at := r.first(factHeader); at < len(r.block); {
		field := r.field(at)
		if binary.LittleEndian.Uint16(field) == factHeader {
			n := len(w.buf)
			w.buf = append(w.buf, field...)
			binary.LittleEndian.PutUint16(w.buf[n:], openHeader)
		}
		at += len(field)
	}
}

// Len returns the length of the request so far, for Cut.
func (w *OpenWriter) Len() int { return len(w.buf) }

// Cut shortens the request to its first n bytes.
func (w *OpenWriter) Cut(n int) { w.buf = w.buf[:n] }

// Block returns the request. It is valid until the next change.
func (w *OpenWriter) Block() []byte {
	if len(w.buf) == 0 {
		w.Begin(&OpenRequest{})
	}
	return closeBlock(w.buf, 0)
}
