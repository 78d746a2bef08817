package host

import (
	"strconv"
	"testing"
)

// Who hears a warning may take their time: the one who has it does not wait,
// the order is kept, and what is too much is left out and counted.
func TestBulletin(t *testing.T) {
	started, goOn, heard := make(chan struct{}), make(chan struct{}), make(chan string, 2*maxBulletin)
	b := bulletin{hear: func(e Event) {
		if e.Warning == "first" {
			close(started)
			<-goOn
		}
		heard <- e.Warning
	}}
	b.post(Event{Warning: "first"})
	<-started
	for n := range maxBulletin + 3 {
		b.post(Event{Server: "s", Warning: strconv.Itoa(n)})
	}
	close(goOn)
	if got := <-heard; got != "first" {
		t.Errorf("heard %q", got)
	}
	for n := range maxBulletin {
		if got := <-heard; got != strconv.Itoa(n) {
			t.Fatalf("heard %q, want %d", got, n)
		}
	}
	if got := <-heard; got != "3 more warnings were left out" {
		t.Errorf("heard %q", got)
	}
}
