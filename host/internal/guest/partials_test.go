package guest

import (
	"bytes"
	"strings"
	"testing"
)

// How much room a message has that arrives in parts, and where.
func TestRoomOfAPartial(t *testing.T) {
	const spare = 5000
	for name, test := range map[string]struct {
		data            string
		n, whole, limit int
		spare           bool // it is in the spare buffer
		want            int  // room, where it is not there
	}{
		"small":                            {"", 1, 0, 1 << 20, true, 0},
		"just the spare buffer":            {"", spare, 0, 1 << 20, true, 0},
		"more than the spare buffer":       {"", spare + 1, 0, 1 << 20, false, spare + 1},
		"will be the spare buffer":         {"", 1, spare, 1 << 20, true, 0},
		"will be more":                     {"", 1000, spare + 1, 1 << 20, false, spare + 1},
		"will be much more":                {"", 100, 1 << 19, 1 << 20, false, announced * 100},
		"has begun":                        {strings.Repeat("a", 10), 1, 0, 1 << 20, false, 4 << 10},
		"is the whole":                     {strings.Repeat("a", 10), 990, 1000, 1 << 20, false, 1000},
		"is more than it should have been": {strings.Repeat("a", 10), 991, 1000, 1 << 20, false, 4 << 10},
		"doubles":                          {strings.Repeat("a", 3000), 1, 0, 1 << 20, false, 6000},
		"doubles up to the limit":          {strings.Repeat("a", 3000), 1, 0, 3500, false, 3500},
		"is more than double":              {strings.Repeat("a", 3000), 7000, 0, 1 << 20, false, 10000},
		"will be more than the limit":      {strings.Repeat("a", 3000), 1, 4000, 3500, false, 3500},
	} {
		a, buffer := partials{spare: make([]byte, 0, spare)}, []byte(nil)
		place := &a.spare[:1][0]
		if test.data != "" {
			buffer = bytes.Clone([]byte(test.data))[:len(test.data):len(test.data)]
		}
		got := a.grow(buffer, test.n, test.whole, test.limit)
		if string(got) != test.data || (a.spare == nil) != test.spare || (&got[:1][0] == place) != test.spare || !test.spare && cap(got) != test.want {
			t.Errorf("%s: %d bytes with room for %d, the spare buffer is left: %v", name, len(got), cap(got), a.spare != nil)
		}
	}
	var a partials
	fits := make([]byte, 3, 5)
	if got := a.grow(fits, 2, 0, 5); cap(got) != 5 || &got[0] != &fits[0] {
		t.Errorf("what fits gets room for %d", cap(got))
	}
}

// A long message whose length is not known gets the room that the one before took, as
// soon as enough of it has come.
func TestRoomOfTheNextLongMessage(t *testing.T) {
	var a partials
	a.learn(1 << 20)
	for name, test := range map[string]struct{ n, whole, limit, want int }{
		"too little has come":     {spareSize / 2, 0, 4 << 20, spareSize / 2},
		"enough":                  {spareSize/2 + 1, 0, 4 << 20, announced * (spareSize/2 + 1)},
		"all that the last took":  {1 << 17, 0, 4 << 20, 1<<20 + 1<<17},
		"the length is told":      {1 << 17, 1 << 18, 4 << 20, 1 << 18},
		"more than the limit":     {1 << 17, 0, 1 << 19, 1 << 19},
		"longer than the last is": {2 << 20, 0, 4 << 20, 2 << 20},
	} {
		if got := cap(a.grow(nil, test.n, test.whole, test.limit)); got != test.want {
			t.Errorf("%s: room for %d, expected %d", name, got, test.want)
		}
	}
}

// The spare buffer is the largest that was kept.
func TestSpareBuffer(t *testing.T) {
	var a partials
	for _, size := range []int{5, 9, 7} {
		a.keep(make([]byte, 1, size))
	}
	if cap(a.spare) != 9 || len(a.spare) != 0 {
		t.Errorf("room for %d, of that %d in use", cap(a.spare), len(a.spare))
	}
	first := &a.spare[:1][0]
	if a.keep(make([]byte, 9)); &a.spare[:1][0] != first {
		t.Error("one as large took its place")
	}
}

// What is held for a message is counted, also when it is let go.
func TestPartialsAreCounted(t *testing.T) {
	var a partials
	m := a.open(7)
	for _, step := range []struct{ size, held, dropped int }{
		{100, 4 << 10, 0}, {4000, 8 << 10, 0}, {5000, 10000, 0}, {900, 10000, 0}, {1, headSize, 1}, {10, headSize, 11},
	} {
		a.add(m, make([]byte, step.size), 0, 10000, 1<<20)
		if a.total != step.held || cap(m.data) != step.held || m.dropped != step.dropped {
			t.Errorf("after %d bytes more: %d are held, %d counted, %d dropped", step.size, cap(m.data), a.total, m.dropped)
		}
	}
	if a.forget(7); a.total != 0 || a.started(7) {
		t.Errorf("%d are counted at the end", a.total)
	}
}
