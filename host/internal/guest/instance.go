package guest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/ctxcond"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// Instance is one guest with one connection.
type Instance struct {
	config   Config
	executor Executor
	caller   Caller // the guest during a host call
	manifest abi.Manifest
	host     hostio.Host
	receiver Receiver
	timers   hostio.Timers
	done     chan struct{} // closed by the owner when the guest has ended
	stderr   stderrTail
	answers  atomic.Pointer[hostio.AnswerReader] // for ReadFor; nil for none

	mu            sync.Mutex // guards the fields below; released before any call to others
	owned         bool       // a goroutine runs the guest
	finished      bool       // no more events are accepted
	begun         bool       // Open was called: there is a receiver
	up            bool       // the guest takes messages
	closing       bool       // CLOSE was posted
	stopped       bool       // the owner ends the guest next, whatever waits
	lostCause     error      // why the connection ends; nil if Close is the reason
	opened        int        // the number of open handles
	backpressured int        // handles with more unsent bytes than the high-water mark
	urgent        queue
	normal        queue
	waiting       int          // bytes in normal
	room          ctxcond.Cond // signals that normal has shrunk
	idle          idleState
	midway        atomic.Bool // a part of a message has come on the shared channel, and not its end

	// What follows belongs to the owner.
	current     item      // the event that runs
	batch       []Message // passed to the guest; freed after the next flush
	stashed     []byte    // written bytes that must stay until the next flush
	handles     []handle
	request     abi.OpenRequest // decoded last, and reused because the next is much the same
	queued      int             // bytes written that the system has not taken, of all handles
	callerBytes int             // the part of queued that belongs to messages of callers
	forwarded   int             // bytes of the current message that were forwarded and belong to its caller
	answered    int             // callers that got an answer since the last yield and may send soon
	unsent      bool            // some handle has something written since the last flush
	unsentBytes int             // of what was written since the last flush
	inbound     partials
	fuel        fuelBucket
	closeHeard  bool  // the guest has got CLOSE
	failure     error // why the guest must end; set once
}

// tookLocked subtracts n bytes that left the normal lane.
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

// Up reports whether the guest has reported that it takes messages.
func (i *Instance) Up() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.up
}

// Midway reports whether a part of a message has come on the shared channel, and not its end.
func (i *Instance) Midway() bool { return i.midway.Load() }

// fail stores why the guest must end. The first reason stays.
func (i *Instance) fail(err error) {
	if i.failure == nil {
		i.failure = err
	}
}

// Status returns the status of the HTTP response of an exchange, or 0, and how long the response asks to
// wait. Only the receiver may call it, while one of its methods runs.
func (i *Instance) Status(exchange uint32) (status int, wait time.Duration) {
	for n := range i.handles {
		if h := &i.handles[n]; h.exchange == exchange && h.status != 0 { // else the handle is not open
			return h.status, h.wait
		}
	}
	return 0, 0
}
