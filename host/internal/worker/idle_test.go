package worker

import (
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

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
		w := idleWatch{spare: idleSpare}
		w.worked.Store(int64(c.worked))
		w.since.Store(int64(c.since))
		if may := w.may(c.age); may != c.may {
			t.Errorf("%+v: it may use %v", c, may)
		}
	}
}

// Each look decides by what was used until then.
func TestIdleWatch(t *testing.T) {
	m, s := listen(nil, io.Discard, guest.Callbacks{})
	lost := make(chan error, 1)
	m.callbacks.Lost = func(err error) { lost <- err }
	s.used = idleSpare
	m.idle.look()
	if m.killed.Load() != nil {
		t.Error("what it may use ends it")
	}
	s.used = time.Hour
	m.idle.look()
	if err := <-lost; !strings.Contains(err.Error(), "its worker process used 1h0m0s of processor time, and had work for 5") {
		t.Errorf("it was lost because %v", err)
	}
	m.Close()
}
