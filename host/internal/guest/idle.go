package guest

import "time"

// idleState tells how long an instance has been idle. A guest that was idle for a while frees the
// buffers of its connection and the memory that it shares with other guests of its plugin. These
// are most of what a hundred idle servers would cost.
type idleState struct {
	events uint64      // how many have run; only the owner uses it
	seen   uint64      // events when the timer was last armed
	rested uint64      // events when the guest was last put to rest
	armed  bool        // the timer runs
	timer  *time.Timer // made when first needed
}

// idleAfter is how long a guest must be idle before it rests: longer than a caller takes between
// two calls, and than a server between two notifications.
const idleAfter = time.Second
