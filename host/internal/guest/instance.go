package guest

import (
	"sync"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/ctxcond"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// Instance is one guest with one connection.
type Instance struct {
	config   Config
	executor Executor
	caller   Caller // the same in the middle of a host call
	manifest abi.Manifest
	host     hostio.Host
	receiver Receiver
	timers   hostio.Timers
	done     chan struct{} // closed by the owner that ended the guest
	stderr   stderrTail
	answers  atomic.Pointer[hostio.AnswerReader] // what ReadFor reads; nil for nothing

	mu            sync.Mutex // guards what follows, never held while anything else is called
	owned         bool       // a goroutine runs the guest
	finished      bool       // nothing is accepted any more
	begun         bool       // there is a receiver
	up            bool       // messages may pass
	closing       bool       // CLOSE was said
	stopped       bool       // the end is next, whatever waits
	lostCause     error      // why, unless Close is the reason
	opened        int        // handles
	backpressured int        // handles with more unsent bytes than the high-water mark
	urgent        queue
	normal        queue
	waiting       int          // bytes in normal
	room          ctxcond.Cond // normal has shrunk
	idle          idleState

	// What follows belongs to the owner.
	current     item      // the event that runs
	batch       []Message // handed over, to be freed after the next flush
	stashed     []byte    // written bytes that must stay until the next flush
	handles     []handle
	request     abi.OpenRequest // the one decoded last: the next is much the same
	queued      int             // bytes written that the system has not taken, of all handles
	callerBytes int             // of them, those that callers answer for
	forwarded   int             // bytes of the current message that were forwarded for its caller
	answered    int             // callers that have had an answer since and may be about to send
	unsent      bool            // some handle was written to since the last flush
	inbound     partials
	fuel        fuelBucket
	closeHeard  bool  // the guest has heard CLOSE
	failure     error // why the guest must end; set once
}

// tookLocked accounts for n bytes that left the normal lane.
func (i *Instance) tookLocked(n int) {
	i.waiting -= n
	i.room.Broadcast()
}

func (i *Instance) pluginError(op string, err error) *PluginError {
	return &PluginError{Plugin: i.config.Plugin, Op: op, Err: err, Stderr: i.stderr.lines()}
}

func (i *Instance) crashed(op string, err error) error {
	e := i.pluginError(op, err)
	e.crashed = true
	return e
}

// Up reports whether the guest has said that messages may pass.
func (i *Instance) Up() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.up
}

// fail marks the guest as lost. The first reason stays.
func (i *Instance) fail(err error) {
	if i.failure == nil {
		i.failure = err
	}
}

// Status returns the status of the HTTP response to an exchange, or 0. Only the
// receiver may call it, while it is called itself.
func (i *Instance) Status(exchange uint32) int {
	for n := range i.handles {
		if h := &i.handles[n]; h.exchange == exchange && h.status != 0 { // else it is not open
			return h.status
		}
	}
	return 0
}
