package wasm

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// space reserves memory as an instance has it, and fills pages of it: each entry
// is what the page is full of.
func space(t *testing.T, pages ...byte) []byte {
	t.Helper()
	buf, ok := reserve(uint64(len(pages) * sharePage))
	if !ok {
		t.Fatal("nothing could be reserved")
	}
	t.Cleanup(func() { release(buf) })
	for i, b := range pages {
		if b != 0 {
			copy(page(buf, i), bytes.Repeat([]byte{b}, sharePage))
		}
	}
	return buf
}

// shared returns the pages of memory that are not its own any more.
func shared(t *testing.T, memory []byte) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	_, rest, ok := strings.Cut(string(maps), fmt.Sprintf("%x-", &memory[0]))
	if head, _, _ := strings.Cut(rest, "\n"); !ok || !strings.Contains(head, "memfd:wharf-guest") {
		return 0
	}
	_, rest, _ = strings.Cut(rest, "Anonymous:")
	var own int
	fmt.Sscan(rest, &own)
	return len(memory)/sharePage - own<<10/sharePage
}

func TestLikeMemoriesAreOne(t *testing.T) {
	var l sharedPages
	defer l.closeFile()
	memories := [][]byte{
		space(t, 1, 2, 3, 4, 5, 0, 0, 7),
		space(t, 1, 2, 3, 4, 5, 0, 9, 8), // two pages of its own
		space(t, 1, 2, 3, 4, 6, 0, 0, 0), // one, and one that is empty here alone
	}
	for round, want := range [][]int{{0, 6, 6}, {6, 6, 6}} {
		for i, m := range memories {
			before := bytes.Clone(m)
			if err := l.share(m, false); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(m, before) {
				t.Errorf("round %d: memory %d is not what it was", round, i)
			}
			if got := shared(t, m); got < want[i] {
				t.Errorf("round %d: memory %d has %d pages in common with others, want %d", round, i, got, want[i])
			}
		}
	}
	one, two := memories[0], memories[1]
	for i := range one {
		one[i] = 0xff
	}
	if two[0] != 1 || page(memories[2], 3)[0] != 4 {
		t.Error("what one writes, another has")
	}
	if err := l.share(space(t, 1, 2, 3, 4, 5, 0, 0, 7), false); err != nil {
		t.Error(err)
	}
}

// Nothing that one instance alone has gets into the file.
func TestOnlyWhatTwoHaveIsWritten(t *testing.T) {
	var l sharedPages
	defer l.closeFile()
	for _, secret := range []byte{'A', 'B', 'C'} {
		if err := l.share(space(t, 1, 2, 3, 4, 5, secret), false); err != nil {
			t.Fatal(err)
		}
	}
	file := make([]byte, 6*sharePage)
	if _, err := l.file.ReadAt(file, 0); err != nil {
		t.Fatal(err)
	}
	if file[0] != 1 || page(file, 4)[0] != 5 {
		t.Error("what all have is not there")
	}
	if !bytes.Equal(page(file, 5), zeros) {
		t.Errorf("the file holds %q", file[5*sharePage])
	}
}

func TestTheFileStaysAsItIs(t *testing.T) {
	var l sharedPages
	defer l.closeFile()
	for range 2 {
		if err := l.share(space(t, 1, 2), false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.file.WriteAt([]byte("x"), 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("write: %v", err)
	}
	for _, size := range []int64{0, 1 << 20} {
		if err := l.file.Truncate(size); !errors.Is(err, unix.EPERM) {
			t.Errorf("truncate to %d: %v", size, err)
		}
	}
	if _, err := unix.Mmap(int(l.file.Fd()), 0, sharePage, unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		t.Error("it can be mapped for writing")
	}
}

func TestUnlikeMemoriesAreLeftAlone(t *testing.T) {
	var l sharedPages
	defer l.closeFile()
	for n := range 4 {
		m := space(t, 1, byte(n+10), byte(n+20), byte(n+30))
		if err := l.share(m, false); err != nil || shared(t, m) != 0 {
			t.Errorf("%d pages are shared, %v", shared(t, m), err)
		}
	}
}

// TestShareChangesNothing does at random what guests do in all: grow, write, be
// put to rest, begin and end.
func TestShareChangesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const pages, guests = 64, 6
	var l sharedPages
	defer l.closeFile()
	type pair struct {
		buf, want []byte
		size      int
	}
	begin := func() *pair {
		p := &pair{buf: space(t, make([]byte, pages)...), want: make([]byte, pages*sharePage), size: pages / 2}
		for i := range p.size {
			if i%3 > 0 {
				copy(page(p.buf, i), bytes.Repeat([]byte{byte(i)}, sharePage))
			}
		}
		copy(p.want, p.buf)
		return p
	}
	var all [guests]*pair
	for i := range all {
		all[i] = begin()
	}
	for range 3000 {
		n := random.IntN(guests)
		p := all[n]
		switch random.IntN(12) {
		case 0:
			if err := l.share(p.buf[:p.size*sharePage], random.IntN(2) == 0); err != nil {
				t.Fatal(err)
			}
		case 1:
			p.size = min(p.size+random.IntN(3), pages)
		case 2:
			if random.IntN(20) == 0 {
				all[n] = begin()
			}
		default:
			at := random.IntN(p.size * sharePage)
			p.buf[at], p.want[at] = byte(at>>12), byte(at>>12) // often the same in all
		}
	}
	for n, p := range all {
		if !bytes.Equal(p.buf, p.want) {
			t.Errorf("memory %d is not what was written to it", n)
		}
	}
}

// files counts what this process has open of files in memory.
func files(t *testing.T) (n int) {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	for _, fd := range open {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.Contains(to, "wharf-guest") {
			n++
		}
	}
	return n
}

// instances starts so many of the Go guest, in an engine of their own.
func instances(t *testing.T, count int) []*Instance {
	t.Helper()
	e := guestEngine(t)
	all := make([]*Instance, count)
	for i := range all {
		all[i] = start(t, e, guestBinary(t))
	}
	return all
}

func TestInstancesShareMemory(t *testing.T) {
	all := instances(t, 4)
	if files(t) != 1 || shared(t, all[2].space.used()) == 0 || shared(t, all[3].space.used()) == 0 {
		t.Errorf("%d files; the third instance begins with memory of its own", files(t))
	}
	for range 3 {
		for n, in := range all {
			if got, err := in.Export("wharf_event").Call(1<<40, eventIndex, 0, 0, uint32(len(lines))); err != nil || got != uint32(len(lines)) {
				t.Fatalf("instance %d: %d, %v", n, got, err)
			}
			if err := in.Rest(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n, in := range all {
		total, alike := len(in.space.used())/sharePage, shared(t, in.space.used())
		if total-alike > 40 {
			t.Errorf("instance %d has %d of %d pages alone", n, total-alike, total)
		}
	}
	for _, in := range all {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
	if n := files(t); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

// A lone instance is not even looked at when it starts: a command that makes one
// call must not pay for it.
func TestALoneInstanceIsLeftAlone(t *testing.T) {
	in := instances(t, 1)[0]
	if in.shared.last != nil {
		t.Error("it was read")
	}
}

func TestRestKeepsToTheRules(t *testing.T) {
	var in *Instance
	s, b := calling(func(*Instance, []uint64) {
		if err := in.Rest(); err == nil {
			t.Error("it rests during a call")
		}
	})
	in = start(t, newEngine(t, s), b.bytes())
	if _, err := in.Export("run").Call(1000, 1); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(in.Rest(), in.Close()); err != nil {
		t.Error(err)
	}
	if err := in.Rest(); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	trapped := start(t, newEngine(t, plain), one(seq(opUnreachable)).bytes())
	stops(t, trapped, TrapUnreachable)
	if err := trapped.Rest(); err != trapped.Dead() {
		t.Errorf("after a trap: %v", err)
	}
}

// A guest that grows after it has rested has what it had, and zeros behind it.
func TestMemoryGrowsAfterRest(t *testing.T) {
	m := one(seq(i32c(1), 0x40, 0, 0x1a, get(0), 0x28, 2, 0)) // grows by a page and loads
	m.memory = &bounds{min: 1, max: 4, capped: true}
	m.data = []string{"\x2a"}
	e := newEngine(t, plain)
	all := []*Instance{start(t, e, m.bytes()), start(t, e, m.bytes()), start(t, e, m.bytes())}
	for pages := uint32(2); pages <= 4; pages++ {
		for n, in := range all {
			if err := in.Rest(); err != nil {
				t.Fatal(err)
			}
			at, want := (pages-1)<<16, uint32(0)
			if pages == 4 {
				at, want = 0, 0x2a
			}
			if got, err := in.Export("run").Call(1000, at); got != want || err != nil || in.Pages() != pages {
				t.Errorf("instance %d of %d pages: %#x at %#x, %v", n, in.Pages(), got, at, err)
			}
		}
	}
}

func TestManyRestAtOnce(t *testing.T) {
	var group sync.WaitGroup
	for n, in := range instances(t, 6) {
		group.Go(func() {
			f := in.Export("wharf_event")
			for i := range 20 {
				if got, err := f.Call(1<<40, eventIndex, 0, 0, uint32(len(lines))); err != nil || got != uint32(len(lines)) {
					t.Errorf("instance %d: %d, %v", n, got, err)
				}
				if err := in.Rest(); err != nil {
					t.Error(err)
				}
				if i == n {
					in.Close()
					return
				}
			}
		})
	}
	group.Wait()
}

func BenchmarkRest(b *testing.B) {
	e := newEngine(b, guestABI())
	all := []*Instance{start(b, e, guestBinary(b)), start(b, e, guestBinary(b)), start(b, e, guestBinary(b))}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if err := all[n%3].Rest(); err != nil {
			b.Fatal(err)
		}
	}
}
