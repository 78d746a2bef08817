package session

import (
	"bytes"
	"compress/flate"
	"hash/maphash"
	"io"
	"sync"
	"time"
	"weak"
)

// listText is the text of a list: a JSON array of its elements, as the server wrote them. It is
// compressed after packAfter, because most lists are read once, right after they came. Compression
// makes a list of tools at least four times smaller.
type listText struct {
	mu     sync.Mutex
	plain  []byte               // nil once packed is set
	packed []byte               // compressed; nil before packAfter
	size   int                  // of the text
	hash   uint64               // of the text
	read   weak.Pointer[[]byte] // the text of packed, until the garbage collector takes it
}

const (
	packAfter = time.Second // longer than a command that lists tools and calls one
	packLeast = 1 << 10     // bytes; compression of less saves little
)

var hashSeed = maphash.MakeSeed()

// newListText takes ownership of text. If former has the same text, it returns former.
func newListText(text []byte, former *listText) *listText {
	hash := maphash.Bytes(hashSeed, text)
	if former != nil && former.size == len(text) && former.hash == hash {
		return former
	}
	t := &listText{plain: text, size: len(text), hash: hash}
	if t.size >= packLeast {
		time.AfterFunc(packAfter, t.pack)
	}
	return t
}

// bytes returns the text. The caller must not change it.
func (t *listText) bytes() []byte {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.packed == nil {
		return t.plain
	}
	if text := t.read.Value(); text != nil {
		return *text
	}
	text := make([]byte, t.size)
	io.ReadFull(flate.NewReader(bytes.NewReader(t.packed)), text) // what pack wrote is read without an error
	t.read = weak.Make(&text)
	return text
}

// packing is held while a text is compressed. A packer takes a megabyte, so only one runs at a
// time.
var packing sync.Mutex

// packers holds values of type *flate.Writer. The garbage collector takes an unused one.
var packers = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.DefaultCompression) // an error would be one of the level
	return w
}}

// pack compresses the text.
func (t *listText) pack() {
	packing.Lock()
	defer packing.Unlock()
	var out bytes.Buffer
	w := packers.Get().(*flate.Writer)
	w.Reset(&out)
	w.Write(t.plain) // plain does not change before the assignment below
	w.Close()
	packers.Put(w)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.plain, t.packed = nil, bytes.Clone(out.Bytes())
}
