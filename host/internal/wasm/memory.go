package wasm

import (
	"os"

	"github.com/tetratelabs/wazero/experimental"
)

const pageSize = 64 << 10

// allocator gives one instance a memory that grows up to a number of pages. If the system can, it
// reserves all of them as address space (reserve), so that growing copies nothing and Go's garbage
// collector does not see the memory. A page takes up memory only when it is first written to.
type allocator struct {
	pages uint32
	made  *reserved // what was allocated, unless it is on the heap
}

// Allocate implements experimental.MemoryAllocator.
func (a *allocator) Allocate(_, most uint64) experimental.LinearMemory {
	size := min(most, uint64(a.pages)*pageSize)
	if buf, ok := reserve(size); ok {
		a.made = &reserved{buf: buf}
		return a.made
	}
	return &heapMemory{most: size}
}

// reserved is a memory on address space of its own. It must not be freed while
// native code runs on it: Instance.Close sees to that.
type reserved struct {
	buf []byte
	use int // bytes at the beginning that the module has
}

// used returns the present memory of the module.
func (m *reserved) used() []byte { return m.buf[:m.use] }

// Reallocate implements experimental.LinearMemory. It returns nil if there is no more memory; then
// the module's memory.grow returns -1.
func (m *reserved) Reallocate(size uint64) []byte {
	if size > uint64(len(m.buf)) || !commit(m.buf[:size]) {
		return nil
	}
	m.use = int(size)
	return m.buf[:size]
}

func (m *reserved) Free() {
	release(m.buf)
	m.buf, m.use = nil, 0
}

// heapMemory is a memory on the heap, for systems on which nothing can be reserved.
type heapMemory struct {
	buf  []byte
	most uint64
}

func (m *heapMemory) Reallocate(size uint64) []byte {
	if size > m.most {
		return nil
	}
	if size > uint64(cap(m.buf)) {
		m.buf = append(make([]byte, 0, size), m.buf...)
	}
	m.buf = m.buf[:size]
	return m.buf
}

func (m *heapMemory) Free() { m.buf = nil }

// sharePage is the size of the pieces in which memory is compared: that of the system's pages. A
// page of Wasm is a multiple of it.
var sharePage = min(os.Getpagesize(), pageSize)

func page(b []byte, i int) []byte { return b[i*sharePage : (i+1)*sharePage] }

var zeros = make([]byte, sharePage)

func count(set []bool) (n int) {
	for _, yes := range set {
		if yes {
			n++
		}
	}
	return n
}
