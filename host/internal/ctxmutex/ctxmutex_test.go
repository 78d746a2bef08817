package ctxmutex_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
)

// One goroutine at a time holds the mutex, and every one gets it.
func TestMutualExclusion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := ctxmutex.New()
		holders, total := 0, 0
		for range 20 {
			go func() {
				if err := m.Lock(t.Context()); err != nil {
					t.Error(err)
					return
				}
				defer m.Unlock()
				if holders++; holders != 1 {
					t.Errorf("%d hold it", holders)
				}
				total++
				holders--
			}()
		}
		synctest.Wait()
		if total != 20 {
			t.Errorf("%d of 20 have held it", total)
		}
	})
}

// A waiter leaves with the cause of its context, and the mutex stays with its holder.
func TestWaiterGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := ctxmutex.New()
		why := errors.New("the person left")
		ctx, cancel := context.WithCancelCause(t.Context())
		if err := m.Lock(ctx); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- m.Lock(ctx) }()
		synctest.Wait()
		cancel(why)
		if err := <-done; !errors.Is(err, why) {
			t.Errorf("the waiter got %v", err)
		}
		m.Unlock()
		if err := m.Lock(ctx); err != nil {
			t.Errorf("a free mutex is not locked: %v", err)
		}
	})
}
