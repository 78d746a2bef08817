package guest

import "time"

// quiet is how long a guest has had nothing to do when it is put to rest: longer
// than a caller takes from one call to the next, and than a server from one
// notification to the next.
const quiet = time.Second

// rest is what an instance knows of its pauses. A guest that had nothing to do for
// a while gives back the buffers of its connection and the memory that it has in
// common with others of its kind: most of what some hundred idle servers would
// cost otherwise.
type rest struct {
	events uint64      // that have run, the owner's
	seen   uint64      // as many had run when the clock was last looked at
	slept  uint64      // as many had run when it was last put to rest
	armed  bool        // somebody is going to look
	timer  *time.Timer // made when first needed
}

// drowseLocked sees to it that somebody looks whether the guest is quiet. The
// owner calls it when it lets go; on the way of a message it is one comparison.
func (i *Instance) drowseLocked() {
	r := &i.rest
	if r.armed || i.alone || r.events == r.slept {
		return
	}
	r.armed, r.seen = true, r.events
	if r.timer == nil {
		r.timer = time.AfterFunc(quiet, i.doze)
		return
	}
	r.timer.Reset(quiet)
}

// doze looks again after quiet, until the guest has had nothing to do for as
// long; then it becomes the owner and puts it to rest. What comes meanwhile waits
// in the mailbox, for less than a millisecond.
func (i *Instance) doze() {
	i.mu.Lock()
	r := &i.rest
	r.armed = false
	if i.owned || i.buried { // an owner sees to it when it lets go
		i.mu.Unlock()
		return
	}
	if r.events != r.seen {
		i.drowseLocked()
		i.mu.Unlock()
		return
	}
	r.slept = r.events
	i.owned = true
	i.mu.Unlock()
	i.settleDown()
	if i.failure != nil {
		i.bury()
		return
	}
	i.resume()
}

// settleDown gives back what the next event makes anew. The owner calls it.
func (i *Instance) settleDown() {
	i.inbound.spare, i.stashed, i.batch = nil, nil, nil
	if err := i.mod.Rest(); err != nil {
		i.fail(i.pluginError("rest", err))
	}
}

func (r *rest) stopLocked() {
	if r.timer != nil {
		r.timer.Stop()
	}
}
