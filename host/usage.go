package host

import (
	"cmp"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// How long a process is kept without a request, if its entry does not say: the longer, the more
// requests it had within busyTime.
const (
	coldTime = time.Minute
	warmTime = 3 * time.Minute
	hotTime  = 5 * time.Minute

	busyTime   = time.Hour
	warmNumber = 5  // a process with more requests within busyTime is kept for warmTime
	hotNumber  = 20 // and one with more than this for hotTime

	// questionTime is how long a process is kept after a result that asks the client for something:
	// longer than a client of a gateway may take to answer.
	questionTime = 10 * time.Minute
)

// usage counts the requests of a session, and ends the connection to a process that none has needed
// for a while, if [Config.StopIdle] is set. A server at an address counts as a process. A server at a
// url does not, because its connection costs little here. A process is kept while it may hold
// something that a client relies on:
//
//   - for requests that are open, and for subscriptions to resources and tasks;
//   - for a task that it has begun, as long as the connection lasts;
//   - in the legacy era, whose servers have sessions, once it was asked for more than it offers: a
//     browser that a tool has opened is in that process, and no message tells of it. An entry with an
//     IdleStop says that there is nothing of the kind.
type usage struct {
	stops    func() bool          // whether the host may end this server
	limit    func() time.Duration // the IdleStop of the entry
	legacy   func() bool
	watching func() bool // whether a subscription needs the server
	rest     func()      // ends the connection

	mu       sync.Mutex
	closed   bool
	open     int                      // requests
	task     bool                     // the server has begun a task on this connection
	state    bool                     // a legacy server may have a state that a client relies on
	until    time.Time                // until then a client may answer a question
	last     time.Time                // when the newest request ended, or the connection was made
	requests [hotNumber + 1]time.Time // the newest, in a ring
	next     int                      // the place of the oldest in it
	timer    *time.Timer              // nil before the first connection
	armed    bool                     // look will be called, or is about to lock mu
}

// watch prepares u for a session. It is called before the session is used.
func (u *usage) watch(s *Session) {
	u.stops = func() bool { return s.host.config.StopIdle && s.entry.Load().URL == "" }
	u.limit = func() time.Duration { return s.entry.Load().IdleStop }
	u.legacy = func() bool { return s.inner.Info().Era == mcp.Legacy }
	u.watching = func() bool { return s.inner.Watching() }
	u.rest = func() {
		if s.driver.Current() != nil {
			s.host.counts.stopped.Add(1)
		}
		s.driver.Rest()
	}
}

// begin counts a request that begins. If it returns true, end must be called when the request has
// ended.
func (u *usage) begin() (counted bool) {
	if !u.stops() {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open++
	u.requests[u.next] = time.Now()
	u.next = (u.next + 1) % len(u.requests)
	return true
}

// end counts the end of a request of a method.
func (u *usage) end(method string) {
	state := !reads[method] && u.legacy()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open--
	u.last = time.Now()
	u.state = u.state || state
	if u.open == 0 && !u.armed && u.timer != nil {
		u.arm(0)
	}
}

// answered looks at the members of a relayed result: for a task, or a question to the client, the
// process is kept longer. To search 1 MB of text for two words would take a quarter of its call.
func (u *usage) answered(result []byte) {
	if !u.stops() {
		return
	}
	task, question := false, false
	r := strictjson.Read(result).Unbounded()
	for key := range r.Object() {
		switch string(key) {
		case "task", "tasks", "taskId":
			task = true
		case "resultType":
			question = string(strictjson.Unquote(r.Raw())) == string(mcp.ResultInputRequired)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.task = u.task || task
	if question {
		u.until = time.Now().Add(questionTime)
	}
}

// connected begins anew for a connection that was just made.
func (u *usage) connected() {
	if !u.stops() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last, u.until, u.task, u.state = time.Now(), time.Time{}, false, false
	u.arm(cmp.Or(max(0, u.limit()), coldTime))
}

// arm sets the timer to call look. The caller holds mu.
func (u *usage) arm(after time.Duration) {
	u.armed = true
	switch {
	case u.closed:
	case u.timer == nil:
		u.timer = time.AfterFunc(after, u.look)
	default:
		u.timer.Reset(after)
	}
}

// look ends the connection if the server was not used for long enough. Otherwise it sets the timer
// to look again.
func (u *usage) look() {
	watching, limit := u.watching(), u.limit()
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	u.armed = false
	wait := max(u.last.Add(cmp.Or(limit, u.patience(now))).Sub(now), u.until.Sub(now))
	switch {
	case u.open > 0: // end looks again
	case limit < 0, u.task, watching, u.state && limit == 0:
		u.arm(min(cmp.Or(max(0, limit), coldTime), coldTime))
	case wait > 0:
		u.arm(wait)
	default:
		u.rest() // with mu held: a request that begins finds the connection, or none
	}
}

// patience returns how long the server is kept without a request if its entry has no IdleStop:
// the longer, the more requests it has had. The caller holds mu.
func (u *usage) patience(now time.Time) time.Duration {
	newest := func(n int) time.Time { return u.requests[(u.next+len(u.requests)-n)%len(u.requests)] }
	switch {
	case now.Sub(newest(hotNumber+1)) < busyTime:
		return hotTime
	case now.Sub(newest(warmNumber+1)) < busyTime:
		return warmTime
	}
	return coldTime
}

func (u *usage) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	if u.timer != nil {
		u.timer.Stop()
	}
}
