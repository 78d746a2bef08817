package host

import (
	"fmt"
	"sync"
)

// bulletin passes on the warnings of plugins. They come from within a plugin,
// which is at a stand until the call returns, and whoever hears them may want to
// use or close the very session they are about: so they are heard on a goroutine
// of their own, which is there while there are any.
type bulletin struct {
	hear func(Event)

	mu      sync.Mutex
	waiting []Event
	running bool
	lost    int
}

// maxBulletin is how many warnings wait. Whoever has more is only counted.
const maxBulletin = 64

// post takes e and returns at once.
func (b *bulletin) post(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) >= maxBulletin {
		b.lost++
		return
	}
	b.waiting = append(b.waiting, e)
	if !b.running {
		b.running = true
		go b.run()
	}
}

func (b *bulletin) run() {
	for e, ok := b.next(); ok; e, ok = b.next() {
		b.hear(e)
	}
}

// next takes the oldest warning, and after the last one the word of those that
// were left out.
func (b *bulletin) next() (e Event, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case len(b.waiting) > 0:
		e, b.waiting = b.waiting[0], b.waiting[1:]
		return e, true
	case b.lost > 0:
		e.Warning = fmt.Sprintf("%d more warnings were left out", b.lost)
		b.lost = 0
		return e, true
	}
	b.running = false
	return Event{}, false
}
