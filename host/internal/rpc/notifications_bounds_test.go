package rpc

import (
	"bytes"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// stalled is a queue whose handler does not return: what is added stays.
func stalled() *notificationQueue { return &notificationQueue{running: true, hear: func(*Incoming) {}} }

// filled returns a stalled queue that holds so many bytes, in one entry.
func filled(bytes int) *notificationQueue {
	q := stalled()
	q.add("m", make([]byte, bytes-notificationSize-1), 0, 0)
	return q
}

// held adds up what the queue holds, from the entries themselves.
func held(q *notificationQueue) (bytes int) {
	for i := range q.filling.entries {
		n := &q.filling.entries[i]
		bytes += notificationSize + len(n.method) + len(q.filling.params(n))
	}
	return bytes
}

// TestQueueBound is about the last byte that fits, for each of the parts that a
// notification is made of.
func TestQueueBound(t *testing.T) {
	const method, room = "custom/method", notificationSize + 100
	for _, test := range []struct {
		name   string
		method string
		params int
		fits   bool
	}{
		{"params at the bound", method, 100 - len(method), true},
		{"params one over", method, 100 - len(method) + 1, false},
		{"method at the bound", strings.Repeat("m", 100), 0, true},
		{"method one over", strings.Repeat("m", 101), 0, false},
		{"nothing but the entry", "", 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := filled(maxQueued - room)
			q.add(test.method, bytes.Repeat([]byte("p"), test.params), 0, 0)
			fits := len(q.filling.entries) == 2
			if lost := q.lost == 1; fits != test.fits || lost == test.fits || q.filling.gap == test.fits {
				t.Errorf("it fits: %v, lost: %v, gap: %v", fits, lost, q.filling.gap)
			}
			if got := held(q); got != q.filling.size || got > maxQueued {
				t.Errorf("%d bytes are held and %d counted; %d are the most", got, q.filling.size, maxQueued)
			}
		})
	}
	t.Run("an entry has its price", func(t *testing.T) {
		for n, fits := range map[int]bool{notificationSize: true, notificationSize - 1: false} {
			q := filled(maxQueued - n)
			if q.add("", nil, 0, 0); (len(q.filling.entries) == 2) != fits {
				t.Errorf("with %d bytes left of %d for an entry, it fits: %v", n, notificationSize, !fits)
			}
		}
	})
	t.Run("the first fits always", func(t *testing.T) {
		q := stalled()
		q.add("m", make([]byte, maxQueued+1), 0, 0)
		if q.add("m", nil, 0, 0); len(q.filling.entries) != 1 || q.lost != 1 {
			t.Errorf("%d entries, %d lost", len(q.filling.entries), q.lost)
		}
	})
}

// TestNamesOfMethodsAreCounted floods a queue with notifications that are all name:
// what it keeps of the memory is what its bound says.
func TestNamesOfMethodsAreCounted(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	h, _, entered, release := hold()
	p := NewPeer(Config{Link: &echo{}, Handler: h})
	tell := func(name string) {
		p.Deliver(0, []byte(`{"jsonrpc":"2.0","method":"`+name+`"}`), false)
	}
	tell("first")
	<-entered
	long := strings.Repeat("x", 1000)
	for n := range 100_000 {
		tell(long + strconv.Itoa(n))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	const most = maxQueued * 3 / 2 // slices grow by a quarter, and small strings round up
	if kept := int(after.HeapAlloc) - int(before.HeapAlloc); kept > most {
		t.Errorf("%d MiB are kept of notifications; %d MiB are the bound of the queue", kept>>20, maxQueued>>20)
	}
	if c := p.Counters(); c.NotesDropped == 0 || c.Notifications != 100_001 {
		t.Errorf("%+v", c)
	}
	p.Close(nil)
	close(release)
}

// TestShedFreesAQuarter drops the oldest log messages until no more than three
// quarters are left, and not one beyond.
func TestShedFreesAQuarter(t *testing.T) {
	const one = 1 << 10 // bytes of an entry
	params := make([]byte, one-notificationSize-len(methodLog))
	for _, test := range []struct {
		name string
		rest int // bytes that are no logs
		logs int // dropped, of those that fill the queue
	}{
		{"to the byte", one, keepQueued / one / 3},
		{"a byte more takes another", one + 1, keepQueued/one/3 + 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := stalled()
			q.add("m", make([]byte, test.rest-notificationSize-1), 0, 0)
			for range maxQueued/one - 1 {
				q.add(methodLog, params, 0, 0)
			}
			q.shed()
			if int(q.logs) != test.logs || held(q) != q.filling.size || q.filling.size > keepQueued || q.filling.size <= keepQueued-one {
				t.Errorf("%d logs were dropped, want %d; %d bytes are left of %d, %d counted", q.logs, test.logs, held(q), keepQueued, q.filling.size)
			}
			if first := &q.filling.entries[0]; first.method != "m" || len(q.filling.params(first)) != test.rest-notificationSize-1 {
				t.Errorf("the first is %q with %d bytes now", first.method, len(q.filling.params(first)))
			}
		})
	}
}

// TestShedCountsWhatIsSaidAgain frees by dropping what a later word repeats, names
// of methods included, and then leaves the logs alone.
func TestShedCountsWhatIsSaidAgain(t *testing.T) {
	q := stalled()
	name := strings.Repeat("x", 1000) + listChanged
	one := notificationSize + len(name)
	again := (maxQueued-keepQueued)/one + 1 // as many as are over the bound, and one that stays
	q.add(methodLog, []byte(`{}`), 0, 0)
	q.add("m", make([]byte, keepQueued-2*notificationSize-len(methodLog)-2-1-one), 0, 0)
	for range again {
		q.add(name, nil, 0, 0)
	}
	q.shed()
	if q.logs != 0 || int(q.coalesced) != again-1 || len(q.filling.entries) != 3 || q.filling.size != keepQueued {
		t.Errorf("%d logs and %d repetitions were dropped, want 0 and %d; %d entries with %d bytes are left", q.logs, q.coalesced, again-1, len(q.filling.entries), q.filling.size)
	}
	for _, n := range q.filling.entries[3:cap(q.filling.entries)] {
		if n.method != "" {
			t.Fatalf("the name of a method is still there: %.20q", n.method)
		}
	}
}

// TestShedOncePerBatch: where shedding does not help, it is not tried for each
// notification that comes; where it left a quarter, it is.
func TestShedOncePerBatch(t *testing.T) {
	for _, test := range []struct {
		kept    int // bytes that cannot be shed
		crammed bool
	}{{keepQueued, false}, {keepQueued + 1, true}} {
		q := filled(test.kept)
		log := make([]byte, maxQueued-test.kept-notificationSize-len(methodLog))
		q.add(methodLog, log, 0, 0)
		q.add("m", nil, 0, 0) // sheds the log
		if q.logs != 1 || q.crammed != test.crammed {
			t.Errorf("%d bytes kept: %d logs were dropped, crammed is %v", test.kept, q.logs, q.crammed)
		}
		log = log[:len(log)-notificationSize-len("m")]
		q.add(methodLog, log, 0, 0)
		q.add("m", nil, 0, 0)
		if again := q.logs == 2; again == test.crammed || q.lost == 1 != test.crammed {
			t.Errorf("%d bytes kept: shed again: %v, lost: %d", test.kept, again, q.lost)
		}
		var told batch
		if q.take(&told); q.crammed {
			t.Error("the next batch is crammed as well")
		}
	}
}

// TestSmallBatchesAreUsedAgain, large ones are not, and neither keeps a name.
func TestSmallBatchesAreUsedAgain(t *testing.T) {
	for bytes, again := range map[int]bool{keepBatch: true, keepBatch + 1: false} {
		q := filled(bytes)
		var told batch
		if !q.take(&told) || told.size != bytes {
			t.Fatalf("took %d bytes, want %d", told.size, bytes)
		}
		if q.take(&told) || q.running {
			t.Error("there is more")
		}
		if used := cap(q.filling.buffer) > 0; used != again || q.filling.size != 0 {
			t.Errorf("%d bytes: used again: %v; %d bytes are counted in an empty batch", bytes, used, q.filling.size)
		}
		if rest := q.filling.entries[:cap(q.filling.entries)]; again && rest[0].method != "" {
			t.Errorf("the name %q is still there", rest[0].method)
		}
	}
}

// TestParamsKeepToThemselves: what a handler appends to is not the next one's.
func TestParamsKeepToThemselves(t *testing.T) {
	q := stalled()
	q.add("a", []byte(`[1]`), 0, 0)
	q.add("b", nil, 0, 0)
	q.add("c", []byte(`[2]`), 0, 0)
	b := &q.filling
	first := b.params(&b.entries[0])
	if string(first) != `[1]` || cap(first) != len(first) || b.params(&b.entries[1]) != nil || string(b.params(&b.entries[2])) != `[2]` {
		t.Errorf("%q with room for %d, %q, %q", first, cap(first), b.params(&b.entries[1]), b.params(&b.entries[2]))
	}
}

// TestClosedQueueHasNoGap: what comes after the end is not missed.
func TestClosedQueueHasNoGap(t *testing.T) {
	q := stalled()
	q.close()
	if q.add("m", nil, 0, 0); q.lost != 1 || q.heard != 1 || q.filling.gap || len(q.filling.entries) != 0 {
		t.Errorf("lost %d, heard %d, gap %v, %d entries", q.lost, q.heard, q.filling.gap, len(q.filling.entries))
	}
}

// TestTopics says what notifications are about, where the latest word is enough.
func TestTopics(t *testing.T) {
	for _, test := range []struct{ method, params, key string }{
		{"notifications/tools/list_changed", ``, "notifications/tools/list_changed"},
		{"notifications/tools/list_changed", `{"n":1}`, "notifications/tools/list_changed"},
		{methodUpdated, `{"uri":"a"}`, methodUpdated + `{"uri":"a"}`},
		{methodProgress, `{"progress":1,"progressToken":7}`, methodProgress + "7"},
		{methodProgress, `{"progressToken":"7","progress":1}`, methodProgress + `"7"`},
		{methodProgress, `{"progress":1}`, ""},
		{methodProgress, ``, ""},
		{methodProgress, `["progressToken"]`, ""},
		{"notifications/other", `{"progressToken":7}`, ""},
		{"notifications/other", ``, ""},
		{methodLog, `{"progressToken":7}`, ""},
	} {
		if key, ok := coalesceKey(test.method, []byte(test.params)); key != test.key || ok != (test.key != "") {
			t.Errorf("%s %s is about %q, %v; want %q", test.method, test.params, key, ok, test.key)
		}
	}
}
