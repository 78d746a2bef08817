package rpc

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// mute is a link whose server answers nothing.
type mute struct{}

func (mute) Send(_ context.Context, m *Message) error { m.Free(); return nil }
func (mute) Cancel(uint32) bool                       { return false }

// TestHeard says when a connection was last heard of: by any message, and all the time
// that a call waits, unless it waits in background.
func TestHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPeer(Config{Link: mute{}, Timeout: -1})
		defer p.Close(nil)
		born := time.Now()
		want := func(what string, at time.Time) {
			t.Helper()
			if got := p.Heard(); !got.Equal(at) {
				t.Errorf("%s: heard at %v; want %v", what, got.Sub(born), at.Sub(born))
			}
		}
		time.Sleep(time.Minute)
		want("at first", born)
		if v := p.Deliver(0, []byte(`{"jsonrpc":"2.0","method":"notifications/x"}`), false); v == abi.VerdictBlank {
			t.Error(v)
		}
		told := time.Now()
		time.Sleep(time.Minute)
		want("a notification", told)
		ctx, cancel := context.WithCancel(t.Context())
		go p.Call(ctx, Call{Method: "listen", Background: true})
		synctest.Wait()
		want("a call in background", told)
		go p.Call(ctx, Call{Method: "work"})
		synctest.Wait()
		time.Sleep(time.Hour)
		want("a call", time.Now())
		cancel()
		synctest.Wait()
		want("after the calls", told)
	})
}
