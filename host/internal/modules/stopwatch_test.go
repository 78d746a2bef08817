package modules

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The time of loads that overlap counts once, and people are told of a load that takes long.
func TestLoadTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		m := &Cache{config: Config{Warn: func(text string) { told = append(told, text) }}}
		quick := m.loading("quick")
		time.Sleep(2 * time.Second)
		slow := m.loading("slow")
		quick()
		time.Sleep(4 * time.Second)
		synctest.Wait() // for the one who tells
		if got := m.LoadTime(); got != 6*time.Second {
			t.Errorf("while one is loaded: %v", got)
		}
		slow()
		time.Sleep(time.Minute)
		if got := m.LoadTime(); got != 6*time.Second {
			t.Errorf("afterwards: %v", got)
		}
		if want := []string{"plugin slow is being compiled, which takes a while the first time"}; !slices.Equal(told, want) {
			t.Errorf("told %q", told)
		}
	})
}
