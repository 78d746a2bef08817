package abi

import "encoding/binary"

// OpenWriter writes an open request piece by piece, as [AppendOpenRequest] would,
// for a guest that has the pieces as bytes and many requests that begin alike.
// Its buffer is used again. Begin comes first, then headers.
type OpenWriter struct{ buf []byte }

// Begin begins a request that has r's fields, and r's headers.
func (w *OpenWriter) Begin(r *OpenRequest) { w.buf = AppendOpenRequest(w.buf[:0], r) }

// Header adds a header.
func (w *OpenWriter) Header(key, value []byte) {
	n := 4 + len(key) + len(value)
	b := appendField(w.buf, openHeader, n)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(key)))
	w.buf = append(append(b, key...), value...)
}

// Len returns the length of what is written so far, for Cut.
func (w *OpenWriter) Len() int { return len(w.buf) }

// Cut goes back to where the request was n bytes long.
func (w *OpenWriter) Cut(n int) { w.buf = w.buf[:n] }

// Block returns the request. It is valid until the next change.
func (w *OpenWriter) Block() []byte {
	if len(w.buf) == 0 {
		w.Begin(&OpenRequest{})
	}
	return closeBlock(w.buf, 0)
}
