package wasm

import (
	"bytes"
	"hash/maphash"
	"os"
	"sync"
)

// likeness is what the memories of a program's instances have in common, for
// them to have it once. All that a language sets up before its first event is
// nearly the same in each: of the 324 pages that a Go guest writes, eight differ,
// which are those that randomness and the clock have left a trace in.
//
// The common pages lie in a file that has no name and cannot be changed any
// more, each at the place where it is in memory. An instance is laid over it in
// one private mapping, and the pages in which it differs are put back: it has the
// same bytes as before, byte for byte, and what it writes from then on is its own
// again. So nothing has to be known about the module, its language, its globals or
// what it did to get here, and no two instances share a seed.
//
// Only what two instances came to have independently gets into the file. A page
// that one alone has is never written anywhere.
type likeness struct {
	mu     sync.Mutex
	users  int          // instances that are not closed
	seed   maphash.Seed // of the digests; nobody outside can make two pages look alike
	last   []uint64     // digests of the instance that came by last
	common *os.File     // nil while no two were alike
	held   []bool       // the pages that are in common; the others are zeros there, and not to be read
}

// better is the part of all pages, one in so many, by which a new file has to be
// better than the one there is: the old one stays for as long as it is mapped.
const better = 32

// join counts an instance in, and reports how many others there are.
func (l *likeness) join() (others int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users++
	return l.users - 1
}

// leave counts an instance out. The last one takes everything with it.
func (l *likeness) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users--; l.users == 0 {
		l.forget()
		l.last = nil
	}
}

func (l *likeness) forget() {
	if l.common != nil {
		l.common.Close()
	}
	l.common, l.held = nil, nil
}

// share lays memory over what others have in common with it. Memory is all that
// the instance has, in a mapping of its own, and nobody uses it meanwhile. fresh
// says that the instance has had no event yet: what it is like then is not what
// it will be like, and worth a file only while there is none.
//
// After an error memory may be lost, and the instance with it.
func (l *likeness) share(memory []byte, fresh bool) error {
	if !canShare || len(memory) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	alike, err := l.compare(memory)
	if err != nil {
		return nil // it cannot be read: everybody keeps what is theirs
	}
	if !fresh || l.common == nil {
		alike = l.learn(memory, alike)
	}
	if l.common == nil || 2*count(alike) < len(alike) {
		return nil
	}
	return overlay(memory, l.common, alike)
}

// compare says which pages of memory are the same in the file. There may be
// fewer pages in the file, or more. A page that is not held is compared without
// looking: it would take up room from then on.
func (l *likeness) compare(memory []byte) ([]bool, error) {
	alike := make([]bool, min(len(memory)/sharePage, len(l.held)))
	if len(alike) == 0 {
		return nil, nil
	}
	view, err := look(l.common, len(alike)*sharePage)
	if err != nil {
		return nil, err
	}
	defer unlook(view)
	for i := range alike {
		with := zeros
		if l.held[i] {
			with = page(view, i)
		}
		alike[i] = bytes.Equal(page(memory, i), with)
	}
	return alike, nil
}

// learn makes a new file if memory is more like the instance that came by before
// than like the file that there is. It returns what is alike now.
func (l *likeness) learn(memory []byte, alike []bool) []bool {
	if l.last == nil {
		l.seed = maphash.MakeSeed()
	}
	before := l.last
	l.last = l.digest(memory)
	agreed := make([]bool, len(l.last))
	for i := range agreed {
		agreed[i] = i < len(before) && l.last[i] == before[i]
	}
	if count(agreed) <= count(alike)+len(agreed)/better {
		return alike
	}
	held := make([]bool, len(agreed))
	for i, d := range l.last {
		held[i] = agreed[i] && d != 0
		agreed[i] = agreed[i] || d == 0
	}
	file, err := record(memory, held)
	if err != nil {
		return alike // there is no room for it: all goes on as it did
	}
	l.forget()
	l.common, l.held = file, held
	return agreed
}

// digest returns a number for each page, which is 0 where all of it is.
func (l *likeness) digest(memory []byte) []uint64 {
	digests := make([]uint64, len(memory)/sharePage)
	for i := range digests {
		if p := page(memory, i); !empty(p) {
			digests[i] = maphash.Bytes(l.seed, p) | 1
		}
	}
	return digests
}

// sharePage is the size of the pieces in which memory is compared, which is that
// of the pages the system gives it in. A page of Wasm is a multiple of it.
var sharePage = min(os.Getpagesize(), pageSize)

func page(b []byte, i int) []byte { return b[i*sharePage : (i+1)*sharePage] }

var zeros = make([]byte, sharePage)

func empty(p []byte) bool { return bytes.Equal(p, zeros) }

func count(set []bool) (n int) {
	for _, yes := range set {
		if yes {
			n++
		}
	}
	return n
}
