package wasm

import (
	"bytes"
	"hash/maphash"
	"os"
	"sync"
)

// sharedPages keeps the memory pages that are equal in several instances of a program
// only once. A language runtime writes nearly the same in each instance before its first
// event: of the 324 pages that a Go guest writes, eight differ, because they depend on
// randomness and the clock.
//
// The common pages lie in an anonymous, sealed file, each at its offset in memory. The
// file is mapped privately over the memory of an instance, and the pages that differ
// are written back: every byte is what it was, and what the instance writes from then
// on is its own again (copy on write). This needs no knowledge of the module or its
// language, and no two instances share a seed.
//
// Only pages that two instances came to have independently get into the file. A page
// that a single instance has is never written to it.
type sharedPages struct {
	mu     sync.Mutex
	users  int          // instances that are not closed
	seed   maphash.Seed // of the digests; random, so that a guest cannot make two pages collide
	last   []uint64     // digests of the instance that was shared last, by page; 0 for a page of zeros
	file   *os.File     // nil while no two instances had pages in common
	inFile []bool       // the pages that are in file; the others are zeros there, and must not be read
}

// gain bounds how often a new file is made: it must have more pages in common than the present
// file, by more than one in gain of all pages. The present file stays in memory as long as it is
// mapped.
const gain = 32

// join counts an instance, and returns how many others there are.
func (l *sharedPages) join() (others int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users++
	return l.users - 1
}

// leave stops counting an instance. After the last one, the file is closed.
func (l *sharedPages) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users--; l.users == 0 {
		l.closeFile()
		l.last = nil
	}
}

func (l *sharedPages) closeFile() {
	if l.file != nil {
		l.file.Close()
	}
	l.file, l.inFile = nil, nil
}

// share maps the file over the pages of memory that are equal to it. Memory is the
// whole memory of an instance, in a mapping of its own, and is not used meanwhile.
// fresh says that the instance has had no event yet: its memory will still change
// much, so that a new file is made of it only if no file is there.
//
// After an error the contents of memory may be lost, and the instance is dead.
func (l *sharedPages) share(memory []byte, fresh bool) error {
	if !canSharePages || len(memory) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	alike, err := l.compare(memory)
	if err != nil {
		return nil // the file cannot be read: the instance keeps its own pages
	}
	if !fresh || l.file == nil {
		alike = l.learn(memory, alike)
	}
	if l.file == nil || 2*count(alike) < len(alike) {
		return nil
	}
	return overlay(memory, l.file, alike)
}

// compare says which pages of memory are the same in the file. The file may have
// fewer pages, or more. A page that is not in the file is compared with zeros and not
// read from the file, because a page that was read takes up memory.
func (l *sharedPages) compare(memory []byte) ([]bool, error) {
	alike := make([]bool, min(len(memory)/sharePage, len(l.inFile)))
	if len(alike) == 0 {
		return nil, nil
	}
	view, err := mapFile(l.file, len(alike)*sharePage)
	if err != nil {
		return nil, err
	}
	defer unmapFile(view)
	for i := range alike {
		with := zeros
		if l.inFile[i] {
			with = page(view, i)
		}
		alike[i] = bytes.Equal(page(memory, i), with)
	}
	return alike, nil
}

// learn makes a new file if that is worth it: memory has more pages in common with the instance
// before it than with the present file, by the measure of gain. It returns the pages that are in
// common afterwards.
func (l *sharedPages) learn(memory []byte, alike []bool) []bool {
	if l.last == nil {
		l.seed = maphash.MakeSeed()
	}
	before := l.last
	l.last = make([]uint64, len(memory)/sharePage)
	for i := range l.last {
		if p := page(memory, i); !bytes.Equal(p, zeros) {
			l.last[i] = maphash.Bytes(l.seed, p) | 1
		}
	}
	agreed := make([]bool, len(l.last))
	for i := range agreed {
		agreed[i] = i < len(before) && l.last[i] == before[i]
	}
	if count(agreed) <= count(alike)+len(agreed)/gain {
		return alike
	}
	held := make([]bool, len(agreed))
	for i, d := range l.last {
		held[i] = agreed[i] && d != 0
		agreed[i] = agreed[i] || d == 0
	}
	file, err := writePages(memory, held)
	if err != nil {
		return alike // no room for a new file: the present one stays
	}
	l.closeFile()
	l.file, l.inFile = file, held
	return agreed
}
