package guest

import "time"

// idleAfter is how long a guest has had nothing to do when it is put to rest: longer
// than a caller takes from one call to the next, and than a server from one
// notification to the next.
const idleAfter = time.Second

// idleState is what an instance knows of its pauses. A guest that had nothing to do for
// a while gives back the buffers of its connection and the memory that it shares with
// other guests of its plugin: most of what a hundred idle servers would cost.
type idleState struct {
	events uint64      // how many have run; the owner's
	seen   uint64      // events when the timer was last armed
	rested uint64      // events when the guest was last put to rest
	armed  bool        // the timer runs
	timer  *time.Timer // made when first needed
}

// watchIdleLocked arms the timer that finds out whether the guest is idle. The
// owner calls it when it lets go; on the way of a message it is one comparison.
func (i *Instance) watchIdleLocked() {
	r := &i.idle
	if r.armed || i.singleThreaded || r.events == r.rested {
		return
	}
	r.armed, r.seen = true, r.events
	if r.timer == nil {
		r.timer = time.AfterFunc(idleAfter, i.checkIdle)
		return
	}
	r.timer.Reset(idleAfter)
}

// checkIdle runs when the timer does. If an event ran meanwhile it arms the timer again;
// if not, it becomes the owner and puts the guest to rest. What comes meanwhile waits in
// the mailbox, for less than a millisecond.
func (i *Instance) checkIdle() {
	i.mu.Lock()
	r := &i.idle
	r.armed = false
	if i.owned || i.finished { // the owner arms the timer when it lets go
		i.mu.Unlock()
		return
	}
	if r.events != r.seen {
		i.watchIdleLocked()
		i.mu.Unlock()
		return
	}
	r.rested = r.events
	i.owned = true
	i.mu.Unlock()
	i.releaseBuffers()
	if i.failure != nil {
		i.finish()
		return
	}
	i.resume()
}

// releaseBuffers gives back what the next event makes anew. The owner calls it.
func (i *Instance) releaseBuffers() {
	i.inbound.spare, i.stashed, i.batch = nil, nil, nil
	if err := i.machine.Rest(); err != nil {
		i.fail(i.pluginError("rest", err))
	}
}

func (r *idleState) stopLocked() {
	if r.timer != nil {
		r.timer.Stop()
	}
}
