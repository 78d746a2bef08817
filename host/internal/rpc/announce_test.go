package rpc

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// An announced notification is over when its exchange is, and not before.
func TestAnnounce(t *testing.T) {
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		end  func(p *Peer, exchange uint32, leave context.CancelFunc)
		want error
	}{
		"taken":   {func(p *Peer, n uint32, _ context.CancelFunc) { p.Done(n) }, nil},
		"refused": {func(p *Peer, n uint32, _ context.CancelFunc) { p.Failed(n, refused) }, refused},
		"closed":  {func(p *Peer, _ uint32, _ context.CancelFunc) { p.Close(nil) }, ErrClosed},
		"left":    {func(_ *Peer, _ uint32, leave context.CancelFunc) { leave() }, context.Canceled},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &stage{}
			p := NewPeer(Config{Link: l})
			defer p.Close(nil)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			got := make(chan error, 1)
			go func() { got <- p.Announce(ctx, "notifications/initialized", nil) }()
			synctest.Wait()
			select {
			case err := <-got:
				t.Errorf("%s: over before its exchange was: %v", name, err)
			default:
			}
			if len(l.sent) != 1 {
				t.Errorf("%s: sent %q", name, l.sent)
			}
			c.end(p, 1, leave)
			if err := <-got; !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		})
	}
}
