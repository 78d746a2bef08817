package guest

import "time"

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

// idleAfter is how long a guest has had nothing to do when it is put to rest: longer
// than a caller takes from one call to the next, and than a server from one
// notification to the next.
const idleAfter = time.Second
