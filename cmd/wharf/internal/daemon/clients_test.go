package daemon

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A daemon ends when it has had no client for a while, once, and takes no client from then on.
func TestClientsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var over atomic.Int32
		c := Await(time.Minute, func() { over.Add(1) })
		defer c.Stop()
		time.Sleep(59 * time.Second)
		for range 2 {
			if !c.Enter() {
				t.Fatal("a client is refused")
			}
		}
		time.Sleep(time.Hour)
		c.Leave()
		time.Sleep(time.Hour)
		c.Leave()
		time.Sleep(59 * time.Second)
		if over.Load() > 0 {
			t.Fatal("it ended while a client was there, or too early")
		}
		if !c.Enter() { // one that only looks in counts too
			t.Fatal("a client is refused")
		}
		c.Leave()
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if over.Load() > 0 {
			t.Fatal("it ended too early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if over.Load() != 1 {
			t.Fatalf("over was called %d times", over.Load())
		}
		if c.Enter() {
			t.Error("a client is taken after the end")
		}
	})
}

func TestClientsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Await(0, func() { t.Error("it ended") })
		time.Sleep(1000 * time.Hour)
		stopped := Await(time.Minute, func() { t.Error("it ended after Stop") })
		stopped.Stop()
		time.Sleep(time.Hour)
		c.Stop()
	})
}
