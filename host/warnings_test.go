package host

import (
	"strconv"
	"testing"
)

// Who hears a warning may take their time: the one who has it does not wait,
// the order is kept, and what is too much is left out and counted.
func TestWarningQueue(t *testing.T) {
	started, goOn, heard := make(chan struct{}), make(chan struct{}), make(chan string, 2*maxWarnings)
	b := warningQueue{deliver: func(e Event) {
		if e.Warning == "first" {
			close(started)
			<-goOn
		}
		heard <- e.Warning
	}}
	b.add(Event{Warning: "first"})
	<-started
	for n := range maxWarnings + 3 {
		b.add(Event{Server: "s", Warning: strconv.Itoa(n)})
	}
	close(goOn)
	if got := <-heard; got != "first" {
		t.Errorf("heard %q", got)
	}
	for n := range maxWarnings {
		if got := <-heard; got != strconv.Itoa(n) {
			t.Fatalf("heard %q, want %d", got, n)
		}
	}
	if got := <-heard; got != "3 more warnings were left out" {
		t.Errorf("heard %q", got)
	}
}
