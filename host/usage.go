package host

import (
	"bytes"
	"cmp"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// How long a process is kept without a request, if its entry does not say: the longer, the more
// requests it had within busyTime.
const (
	coldTime = time.Minute
	warmTime = 3 * time.Minute
	hotTime  = 5 * time.Minute

	busyTime   = time.Hour
	warmNumber = 5  // more requests than that are warm
	hotNumber  = 20 // more are hot

	// questionTime is how long a process is kept after a result that asks the client for something:
	// longer than a client of a gateway may take to answer.
	questionTime = 10 * time.Minute
)

// usage is how a session is used. It ends the connection to a process that is not, if the host wants
// that; a server at an address counts as one, and one at a url does not, since it costs little here. A
// process is kept while it may hold what a client relies on:
//
//   - for requests that are open, and for subscriptions to resources and tasks;
//   - for a task that it has begun, as long as the connection lasts;
//   - in the legacy era, whose servers have sessions, once it was asked for more than it offers: a
//     browser that a tool has opened is in that process, and no message tells of it. An entry with an
//     IdleStop says that there is nothing of the kind.
type usage struct {
	stops    func() bool          // whether the host ends the server at all
	limit    func() time.Duration // the IdleStop of the entry
	legacy   func() bool
	watching func() bool // whether a subscription needs the server
	rest     func()      // ends the connection

	mu       sync.Mutex
	closed   bool
	open     int                      // requests
	task     bool                     // the server has begun one on this connection
	state    bool                     // a legacy server may have a state that a client relies on
	until    time.Time                // before that a client may answer a question
	last     time.Time                // when the newest request ended, or the connection was made
	requests [hotNumber + 1]time.Time // the newest, in a ring
	next     int                      // the place of the oldest in it
	timer    *time.Timer              // nil before the first connection
	armed    bool                     // look will be called, or is about to lock mu
}

// watch sets u up for a session, before anything uses that.
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

// begin says that a request begins. If it returns true, end must be called.
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

// end says that a request has ended.
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

// Words of a result that has a task, or that asks the client for something. Another result may have
// them too, which is then kept for nothing: to look for the members would cost more than to find out
// that the words are not there.
var (
	wordOfTask     = []byte(`"taskId"`)
	wordOfQuestion = []byte(`"` + string(mcp.ResultInputRequired) + `"`)
)

// answered looks at a result that is passed on.
func (u *usage) answered(result []byte) {
	if !u.stops() {
		return
	}
	task, question := bytes.Contains(result, wordOfTask), bytes.Contains(result, wordOfQuestion)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.task = u.task || task
	if question {
		u.until = time.Now().Add(questionTime)
	}
}

// connected says that there is another connection.
func (u *usage) connected() {
	if !u.stops() {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last, u.until, u.task, u.state = time.Now(), time.Time{}, false, false
	u.arm(cmp.Or(max(0, u.limit()), coldTime))
}

// arm has look called later. The caller holds mu.
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

// look has the server rest if it is time, and otherwise looks again when it may be.
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
		u.arm(coldTime)
	case wait > 0:
		u.arm(wait)
	default:
		u.rest() // with mu held: a request that begins finds the connection, or none
	}
}

// patience returns how long the server is kept without a request, if its entry does not say. The
// caller holds mu.
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
