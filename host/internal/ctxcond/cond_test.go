package ctxcond

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

func TestCond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var c Cond
		enough := errors.New("enough")
		impatient, give := context.WithCancelCause(t.Context())
		got := make(chan error, 3)
		for _, ctx := range []context.Context{t.Context(), t.Context(), impatient} {
			go func() {
				mu.Lock()
				defer mu.Unlock()
				got <- c.Await(ctx, &mu)
			}()
		}
		synctest.Wait()
		give(enough)
		if err := <-got; err != enough {
			t.Errorf("the one that gave up got %v", err)
		}
		mu.Lock()
		if !c.Awaited() {
			t.Error("no one waits")
		}
		c.Broadcast()
		if c.Awaited() {
			t.Error("someone waits for what has happened")
		}
		mu.Unlock()
		for range 2 {
			if err := <-got; err != nil {
				t.Error(err)
			}
		}
	})
}
