package session

// hold stops the clocks of the calls under way that are tracked, for as long as
// the server waits for a callback: a person who fills in a form takes minutes, and
// that is no sign that the server does not answer. In the legacy era nothing says
// which call a question belongs to, so it is all of them. The clocks begin anew
// with release; how long a call may take in all is counted on.
func (t *trackers) hold() (release func()) {
	t.mu.Lock()
	held := make([]*tracker, 0, len(t.active))
	for _, k := range t.active {
		held = append(held, k)
	}
	t.mu.Unlock()
	for _, k := range held {
		k.hold(1)
	}
	return func() {
		for _, k := range held {
			k.hold(-1)
		}
	}
}

func (t *tracker) hold(more int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held += more
	if t.held > 0 && t.idle != nil {
		t.idle.Stop()
	}
	t.rewind()
}

// rewind begins the clock anew, unless it is held. The caller holds mu.
func (t *tracker) rewind() {
	if t.idle != nil && t.held == 0 {
		t.idle.Reset(t.rest)
	}
}
