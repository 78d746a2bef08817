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

// listText is the text of a list: a JSON array of its elements, as the server wrote them. It
// is compressed after packAfter, because most lists are read once, right after they came. A
// list of tools has a quarter of its size then, or less.
type listText struct {
	mu     sync.Mutex
	plain  []byte               // nil once packed is there
	packed []byte               // compressed; nil before
	size   int                  // of the text
	hash   uint64               // of the text
	read   weak.Pointer[[]byte] // the text of packed, as long as the collector leaves it
}

const (
	packAfter = time.Second // longer than a command lasts that lists tools and calls one
	packLeast = 1 << 10     // bytes; it saves little to compress fewer
)

var hashSeed = maphash.MakeSeed()

// newListText takes over text. If former has the same text, it is returned.
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

// bytes returns the text, which the caller does not change.
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

// packing is held while a text is compressed: a packer has a megabyte, and one is enough.
var packing sync.Mutex

// packers are of type *flate.Writer. The collector takes one that is not used.
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
	w.Write(t.plain) // which is not changed but below
	w.Close()
	packers.Put(w)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.plain, t.packed = nil, bytes.Clone(out.Bytes())
}
