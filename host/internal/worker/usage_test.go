package worker

import (
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"github.com/wharf-mcp/wharf/host/internal/guest"
)

// What a worker may use grows with what it was asked to do, and hardly with its age.
func TestWhatAWorkerMayUse(t *testing.T) {
	all := time.Duration(runtime.NumCPU())
	for _, c := range []struct {
		age, worked, since, may time.Duration
	}{
		{0, 0, -1, idleSpare},
		{time.Hour, 0, -1, idleSpare + 36*time.Second},
		{time.Hour, time.Minute, -1, idleSpare + 36*time.Second + all*time.Minute},
		{time.Hour, time.Minute, 50 * time.Minute, idleSpare + 36*time.Second + all*11*time.Minute},
	} {
		w := usageWatch{spare: idleSpare}
		w.worked.Store(int64(c.worked))
		w.since.Store(int64(c.since))
		if may := w.may(c.age); may != c.may {
			t.Errorf("%+v: it may use %v", c, may)
		}
	}
}

// Each look decides by what the worker takes until then.
func TestUsageWatch(t *testing.T) {
	for says, used := range map[string]process.Usage{
		"used 1h0m0s of processor time, and had work for 5":      {CPU: time.Hour},
		"has 17 MB of page tables, where 16 are the most, so it": {PageTables: maxPageTables + 1<<20},
	} {
		m, s := listen(nil, io.Discard, guest.Callbacks{})
		lost := make(chan error, 1)
		m.callbacks.Lost = func(err error) { lost <- err }
		s.used = process.Usage{CPU: idleSpare, PageTables: maxPageTables}
		if !m.usage.look() || m.killed.Load() != nil {
			t.Error("what it may take ends it")
		}
		s.used = used
		if m.usage.look() {
			t.Error("the watch goes on without a worker")
		}
		if err := <-lost; !strings.Contains(err.Error(), "its worker process "+says) {
			t.Errorf("it was lost because %v", err)
		}
		m.Close()
	}
}

// A worker is looked at soon, and then less and less often.
func TestWhenAWorkerIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks []int
		born := time.Now()
		w := usageWatch{}
		w.start(lookedAt(func() { looks = append(looks, int(time.Since(born).Seconds())) }), func(string) {})
		time.Sleep(2 * time.Minute)
		w.stop()
		synctest.Wait()
		if want := []int{1, 3, 7, 15, 31, 61, 91}; !slices.Equal(looks, want) {
			t.Errorf("it was looked at after %d seconds, want %d", looks, want)
		}
	})
}

// lookedAt is a process that hears of each look, and takes nothing.
type lookedAt func()

func (l lookedAt) Usage() (process.Usage, bool) { l(); return process.Usage{}, true }
