package manager

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/status"
)

// read returns the notices that wait, in words.
func read(t *testing.T, s *Subscription) string {
	t.Helper()
	var words []string
	for {
		n, ok := s.take()
		if !ok {
			return strings.Join(words, ", ")
		}
		word := n.Name + " " + n.State.String()
		if n.Gone {
			word += " gone"
		}
		words = append(words, word)
	}
}

func TestSlowReader(t *testing.T) {
	b := newStatusRegistry()
	early := b.Subscribe()
	one := b.add("one", status.Status{})
	two := b.add("two", status.Status{})
	for _, state := range []status.State{status.Connecting, status.Connected, status.Reconnecting, status.Failed} {
		b.post(one, status.Status{State: state})
	}
	b.post(two, status.Status{State: status.Connected})
	if got := read(t, early); got != "one failed, two connected" {
		t.Error("early:", got)
	}
	if got := read(t, b.Subscribe()); got != "one failed, two connected" {
		t.Error("late:", got)
	}
	b.post(one, status.Status{State: status.Connected})
	b.remove(one)
	if got := read(t, early); got != "one connected gone" {
		t.Error("early, at the end:", got)
	}
	if got := read(t, b.Subscribe()); got != "two connected" {
		t.Error("after the end:", got)
	}
}

// TestUnread has servers come and go on a registry that one reader never reads.
func TestUnread(t *testing.T) {
	b := newStatusRegistry()
	s := b.Subscribe()
	for range 10_000 {
		id := b.add("brief", status.Status{})
		b.post(id, status.Status{State: status.Failed})
		b.remove(id)
	}
	if len(s.queue)+len(s.news)+len(s.told) != 0 || cap(s.queue) > 16 {
		t.Errorf("it keeps %d notices in a queue of %d", len(s.news), cap(s.queue))
	}
	for range 10_000 {
		b.report(b.add("lasting", status.Status{}), func(f *status.Status) { f.Tools++ })
	}
	for _, n := range b.Statuses() {
		b.post(n.ID, status.Status{State: status.Failed})
	}
	if len(s.queue) != 10_000 || len(s.news) != 10_000 {
		t.Errorf("it keeps %d notices for 10000 servers", len(s.news))
	}
}

func TestFacts(t *testing.T) {
	b := newStatusRegistry()
	s := b.Subscribe()
	id := b.add("files", status.Status{})
	b.post(id, status.Status{State: status.Connected})
	b.report(id, func(f *status.Status) { f.Tools, f.Era = 7, "modern" })
	read(t, s)
	b.report(id, func(f *status.Status) { f.Tools = 7 })
	if got := read(t, s); got != "" {
		t.Error("told of what is not new:", got)
	}
	for _, step := range []struct {
		state status.State
		stale bool
	}{{status.AuthRequired, false}, {status.Connected, false}, {status.Reconnecting, true}, {status.Connected, true}} {
		b.post(id, status.Status{State: step.state})
		if got := b.Statuses()[0]; got.Stale != step.stale || got.Tools != 7 || got.Era != "modern" {
			t.Errorf("%v: %+v", step.state, got)
		}
	}
	b.report(id, func(f *status.Status) { f.Tools, f.Stale = 8, false })
	if got := b.Statuses()[0]; got.Stale || got.Tools != 8 {
		t.Errorf("reloaded: %+v", got)
	}
}

// TestNothingKnownIsNotStale loses a connection before any tool was counted.
func TestNothingKnownIsNotStale(t *testing.T) {
	b := newStatusRegistry()
	id := b.add("files", status.Status{State: status.Connected})
	b.post(id, status.Status{State: status.Reconnecting})
	if got := b.Statuses()[0]; got.Stale {
		t.Errorf("stale without a tool: %+v", got)
	}
}

// TestIDsCountUp numbers servers from 1, in the order in which they were added.
func TestIDsCountUp(t *testing.T) {
	b := newStatusRegistry()
	for want := uint64(1); want <= 3; want++ {
		if got := b.add("files", status.Status{}); got != want {
			t.Errorf("server %d has the id %d", want, got)
		}
		if s, ok := b.status(want); !ok || s.Name != "files" || s.ID != want {
			t.Errorf("server %d is %+v, %v", want, s, ok)
		}
		if s, ok := b.status(want + 1); ok {
			t.Errorf("a server that was not added is %+v", s)
		}
	}
}

// TestTokenIsPassedOn wakes a second reader only while a notice still waits.
func TestTokenIsPassedOn(t *testing.T) {
	b := newStatusRegistry()
	s := b.Subscribe()
	b.add("one", status.Status{})
	b.add("two", status.Status{})
	<-s.ready
	for waiting := 1; waiting >= 0; waiting-- {
		if _, ok := s.take(); !ok || len(s.ready) != waiting {
			t.Errorf("%d notices wait, and %d tokens", waiting, len(s.ready))
		}
		for len(s.ready) > 0 {
			<-s.ready
		}
	}
}

func TestNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newStatusRegistry()
		s := b.Subscribe()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Next(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		time.AfterFunc(time.Second, func() { b.add("files", status.Status{}) })
		if n, err := s.Next(t.Context()); err != nil || n.Name != "files" || n.Seq != 1 {
			t.Error(n, err)
		}
		time.AfterFunc(time.Second, s.Close)
		if _, err := s.Next(t.Context()); !errors.Is(err, ErrRegistryClosed) {
			t.Error(err)
		}
		s.Close()
		b.add("other", status.Status{})
		if _, err := s.Next(t.Context()); !errors.Is(err, ErrRegistryClosed) {
			t.Error("closed, and yet:", err)
		}
	})
}

func TestClosedBoard(t *testing.T) {
	b := newStatusRegistry()
	s := b.Subscribe()
	id := b.add("files", status.Status{})
	b.Close()
	b.Close()
	b.post(id, status.Status{State: status.Failed})
	for name, s := range map[string]*Subscription{"before": s, "after": b.Subscribe()} {
		if n, err := s.Next(t.Context()); err != nil || n.Name != "files" || n.State != status.Disconnected {
			t.Error(name, n, err)
		}
		if _, err := s.Next(t.Context()); !errors.Is(err, ErrRegistryClosed) {
			t.Error(name, err)
		}
		s.Close()
	}
}

// TestManyReaders shares a subscription among goroutines: none of them sleeps
// while there is news that was not taken.
func TestManyReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newStatusRegistry()
		s := b.Subscribe()
		got := make(chan status.Update, 4)
		for range cap(got) {
			go func() {
				if n, err := s.Next(t.Context()); err == nil {
					got <- n
				}
			}()
		}
		synctest.Wait()
		b.mu.Lock()
		for id := range uint64(cap(got)) {
			s.queue = append(s.queue, id)
			s.news[id] = status.Update{Status: status.Status{ID: id}}
		}
		s.wake() // once, as when no reader could run in between
		b.mu.Unlock()
		synctest.Wait()
		if len(got) != cap(got) {
			t.Errorf("%d of %d readers are awake", len(got), cap(got))
		}
		s.Close()
	})
}

// FuzzBoard compares what readers of any speed know with what is on the registry.
func FuzzBoard(f *testing.F) {
	f.Add(uint64(1), 200)
	f.Fuzz(func(t *testing.T, seed uint64, steps int) {
		random := rand.New(rand.NewPCG(seed, 3))
		b := newStatusRegistry()
		knows := map[*Subscription]map[uint64]status.Update{b.Subscribe(): {}, b.Subscribe(): {}}
		var ids []uint64
		for range min(max(steps, 0), 500) {
			switch k := random.IntN(10); {
			case k == 0 || len(ids) == 0:
				ids = append(ids, b.add("s", status.Status{}))
			case k == 1:
				b.remove(ids[random.IntN(len(ids))])
			case k < 7:
				b.post(ids[random.IntN(len(ids))], status.Status{State: status.State(random.IntN(8))})
			case k == 7:
				knows[b.Subscribe()] = map[uint64]status.Update{}
			default:
				for s, known := range knows {
					hear(t, s, known, random.IntN(4))
				}
			}
		}
		b.Close()
		for s, known := range knows {
			hear(t, s, known, 1000)
			if len(s.told) != len(known) {
				t.Fatalf("it remembers %d servers of %d", len(s.told), len(known))
			}
			sameAs(t, b, known)
		}
	})
}

// hear reads up to n notices and checks their order.
func hear(t *testing.T, s *Subscription, known map[uint64]status.Update, n int) {
	t.Helper()
	for range n {
		news, ok := s.take()
		if !ok {
			return
		}
		old, told := known[news.ID]
		if told && news.Seq <= old.Seq || news.Gone && !told {
			t.Fatalf("heard %+v after %+v", news, old)
		}
		if known[news.ID] = news; news.Gone {
			delete(known, news.ID)
		}
	}
}

func sameAs(t *testing.T, b *StatusRegistry, known map[uint64]status.Update) {
	t.Helper()
	shown := b.Statuses()
	if len(shown) != len(known) {
		t.Fatalf("%d servers, and a reader knows %d", len(shown), len(known))
	}
	for _, want := range shown {
		if got := known[want.ID].Status; got != want {
			t.Fatalf("a reader knows %+v, and the registry shows %+v", got, want)
		}
	}
}
