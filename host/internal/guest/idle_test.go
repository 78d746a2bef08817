package guest

import (
	"bytes"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/plugins"
)

// wantShared wants at least so many memories to lie over common pages, where that
// is known to be possible.
func wantShared(t *testing.T, least int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	if got := bytes.Count(maps, []byte("memfd:wharf-guest")); got < least {
		t.Errorf("%d memories have pages in common, want %d", got, least)
	}
}

// shipped returns a module that comes with the program.
func shipped(t *testing.T, name string) *wasm.Module {
	t.Helper()
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(t.Context(), name, plugins.Builtin()[name]())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Compile(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// The plugins that come with the program are those whose memory is worth it.
func TestShippedPluginsShare(t *testing.T) {
	for n, name := range []string{"stdio", "http", "sse"} {
		m := shipped(t, name)
		for range 3 {
			i, err := New(t.Context(), Config{Plugin: name, Module: m})
			if err != nil {
				t.Fatal(err)
			}
			defer i.executor.Close()
			i.releaseBuffers()
			if i.failure != nil {
				t.Error(i.failure)
			}
		}
		wantShared(t, 2*(n+1))
	}
}

// isIdle reports whether r has been put to rest since its last event.
func (r *rig) isIdle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.owned && !r.idle.armed && r.idle.rested == r.idle.events
}

// goesIdle has r put to rest when it has been quiet, as it would be elsewhere.
func (r *rig) goesIdle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle.armed = false
	r.watchIdleLocked()
}

// spare is the size of the buffer that r keeps. No goroutine runs the guest.
func (r *rig) spare() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cap(r.inbound.spare)
}

func TestQuietGuestsRest(t *testing.T) {
	module(t, stdioPackage).Compile(t.Context())
	synctest.Test(t, func(t *testing.T) {
		r := open(t, stdioPackage, Config{})
		r.goesIdle()
		out := r.host.stream(0)
		out.sink.Opened()
		for n := range 5 { // in use, if not much
			r.send(t, uint32(n+1), "{}")
			<-out.took
			out.sink.Data([]byte(`{"half of`), false)
			out.sink.Data([]byte(` it": 1}`+"\n"), false)
			time.Sleep(idleAfter * 3 / 4)
			synctest.Wait()
			if r.isIdle() {
				t.Errorf("it was put to rest %v after call %d", idleAfter*3/4, n)
			}
		}
		if r.spare() == 0 {
			t.Fatal("no buffer is kept in use: this test tests nothing")
		}
		time.Sleep(2 * idleAfter)
		synctest.Wait()
		if !r.isIdle() || r.spare() > 0 {
			t.Errorf("at rest: %v, %d bytes kept", r.isIdle(), r.spare())
		}
		r.send(t, 9, "{}")
		<-out.took
		out.sink.Data([]byte("{\"more\": 1}\n"), false)
		if got := r.inbox.messages(); len(got) != 6 {
			t.Errorf("got %q", got)
		}
		time.Sleep(2 * idleAfter)
		synctest.Wait()
		if !r.isIdle() {
			t.Error("it is put to rest only once")
		}
	})
}

// A guest that is run at the moment of the check is left alone, and looked
// at again.
func TestABusyGuestDoesNotRest(t *testing.T) {
	module(t, stdioPackage).Compile(t.Context())
	synctest.Test(t, func(t *testing.T) {
		r := open(t, stdioPackage, Config{})
		r.goesIdle()
		goOn := r.busy()
		r.checkIdle()
		if r.idle.rested > 0 {
			t.Error("it was put to rest while it was run")
		}
		goOn()
		if r.Close(t.Context()); r.idle.timer.Stop() {
			t.Error("a timer still runs for a guest that is gone")
		}
		r.checkIdle()
	})
}

// A guest whose memory is lost ends, and says so.
func TestAGuestThatCannotRest(t *testing.T) {
	r := open(t, stdioPackage, Config{})
	r.executor.Close() // as good as any other reason
	r.mu.Lock()
	r.idle.seen = r.idle.events
	r.mu.Unlock()
	r.checkIdle()
	<-r.inbox.closed
	if r.inbox.cause == nil {
		t.Error("the receiver does not hear why")
	}
}
