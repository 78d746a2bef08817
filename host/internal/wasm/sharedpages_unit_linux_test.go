package wasm

import (
	"errors"
	"os"
	"testing"
)

// The file is closed behind the last instance, and not before.
func TestInstancesAreCounted(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	l := sharedPages{file: file, last: make([]uint64, 1)}
	if first, second := l.join(), l.join(); first != 0 || second != 1 {
		t.Errorf("%d others, and then %d", first, second)
	}
	if l.leave(); l.file == nil || l.last == nil {
		t.Error("closed while an instance is there")
	}
	if l.leave(); l.file != nil || l.last != nil {
		t.Error("kept behind the last")
	}
	if err := file.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file was not closed: %v", err)
	}
	if l.join() != 0 {
		t.Error("an instance is counted that left")
	}
}

// pagesOf returns n pages, full of 1 and so on, and then the others.
func pagesOf(n int, others ...byte) (all []byte) {
	for i := range n {
		all = append(all, byte(i+1))
	}
	return append(all, others...)
}

// A new file must have one page in gain more in common than the present one.
func TestANewFileHasToBeWorthIt(t *testing.T) {
	var l sharedPages
	defer l.closeFile()
	share := func(fresh bool, others ...byte) {
		t.Helper()
		if err := l.share(space(t, pagesOf(gain-2, others...)...), fresh); err != nil {
			t.Fatal(err)
		}
	}
	share(false, 100, 101)
	share(false, 102, 103)
	present := l.file
	if present == nil || count(l.inFile) != gain-2 {
		t.Fatalf("%d pages in common", count(l.inFile))
	}
	if share(false, 102, 104); l.file != present {
		t.Error("a new file is made for one page")
	}
	if share(true, 102, 104); l.file != present {
		t.Error("a new file is made of an instance that had no event")
	}
	if share(false, 102, 104); l.file == present || count(l.inFile) != gain {
		t.Errorf("no new file is made for two pages: %d", count(l.inFile))
	}
}

// A fresh instance is learnt from while there is no file; an empty memory never.
func TestWhatIsLearntFrom(t *testing.T) {
	var l sharedPages
	defer l.closeFile()
	if err := l.share(nil, false); err != nil || l.last != nil {
		t.Errorf("an empty memory: %v, %v", l.last, err)
	}
	for range 2 {
		if err := l.share(space(t, 1, 2, 3, 4), true); err != nil {
			t.Fatal(err)
		}
	}
	if l.file == nil {
		t.Fatal("two that are alike make no file")
	}
	before := &l.last[0]
	if err := l.share(space(t, 1, 2, 3, 4), true); err != nil || &l.last[0] != before {
		t.Errorf("a fresh one is learnt from: %v", err)
	}
	if err := l.share(nil, false); err != nil || &l.last[0] != before {
		t.Errorf("an empty memory is learnt from: %v", err)
	}
	for _, m := range []struct {
		memory []byte
		want   int
	}{
		{space(t, 1, 2, 8, 9), 2}, // half is enough
		{space(t, 1, 7, 8, 9), 0},
		{space(t, 1, 2), 2}, // less memory than the file has
	} {
		if err := l.share(m.memory, true); err != nil {
			t.Fatal(err)
		}
		if got := shared(t, m.memory); got != m.want {
			t.Errorf("%d pages are in common, want %d", got, m.want)
		}
	}
	if err := l.share(space(t, 1, 2, 3, 4), false); err != nil || &l.last[0] == before {
		t.Errorf("one that had events is not learnt from: %v", err)
	}
}
