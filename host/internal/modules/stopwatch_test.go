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
		began := time.Now()
		m := &Cache{config: Config{Warn: func(_, text string) { told = append(told, text) }}}
		quick := m.loading("quick")
		time.Sleep(2 * time.Second)
		slow := m.loading("slow")
		quick()
		time.Sleep(4 * time.Second)
		synctest.Wait() // for the one who tells
		for since, want := range map[time.Duration]time.Duration{0: 6 * time.Second, 5 * time.Second: time.Second, 6 * time.Second: 0} {
			if got := m.LoadTime(began.Add(since)); got != want {
				t.Errorf("while one is loaded, since %v: %v", since, got)
			}
		}
		slow()
		time.Sleep(time.Minute)
		m.loading("more")()
		for since, want := range map[time.Duration]time.Duration{0: 6 * time.Second, 5 * time.Second: time.Second, time.Minute: 0} {
			if got := m.LoadTime(began.Add(since)); got != want {
				t.Errorf("afterwards, since %v: %v", since, got)
			}
		}
		if want := []string{"plugin slow is still being loaded; it is compiled the first time, which takes a while"}; !slices.Equal(told, want) {
			t.Errorf("told %q", told)
		}
	})
}
