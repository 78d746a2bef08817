package capability

import (
	"cmp"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// Grace holds how long each step of an ending waits. Zero means the default.
type Grace struct {
	Stdin time.Duration // from closing its stdin until a process is told to end; default 2 s
	Term  time.Duration // from then until the process is killed; default 2 s
	Exit  time.Duration // from the end of a process until its pipes are given up; default 500 ms
	Kill  time.Duration // from a kill until the wait for the killed process ends; default 5 s
}

// OneShot returns the grace of a command that prints its result and exits. Only the waits for a
// server to end by itself are short. The others depend on how busy the machine is, and a program
// that exits before they are over would leave processes behind.
func OneShot() Grace {
	return Grace{Stdin: 100 * time.Millisecond, Term: 400 * time.Millisecond}.withDefaults()
}

func (g Grace) withDefaults() Grace {
	return Grace{
		Stdin: cmp.Or(g.Stdin, 2*time.Second),
		Term:  cmp.Or(g.Term, 2*time.Second),
		Exit:  cmp.Or(g.Exit, 500*time.Millisecond),
		Kill:  cmp.Or(g.Kill, 5*time.Second),
	}
}

// Limits bound what one table may use. Zero means the default.
type Limits struct {
	Handles  int           // handles at a time, those that are still closing included; default 64
	Burst    int           // opens that may come at once, and requests in a row without an answer; default 16
	Refill   time.Duration // the time after which one more open is allowed; default 250 ms
	Dial     time.Duration // from the start of a dial to its outcome; default 10 s
	Stall    time.Duration // how long a peer may take no byte while bytes wait for it; default 10 s
	LowWater int           // Queued at which a sink hears Drained; default 64 KiB

	// Of HTTP. A connection may have abi.MaxHandles exchanges open, and a closed
	// one takes a moment to be over.
	Exchanges int           // at a time, those that are still closing included; default 256
	Bodies    int           // bytes of request bodies held at a time; default 64 MiB
	Answer    int64         // bytes of a body that is no event stream; default 64 MiB
	Head      time.Duration // from the last byte sent to the head of the answer; default 5 min
	Body      time.Duration // for a body that is no event stream; default 2 min
	Idle      time.Duration // without a byte of an event stream; default 5 min
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Handles:  cmp.Or(l.Handles, 64),
		Burst:    cmp.Or(l.Burst, 16),
		Refill:   cmp.Or(l.Refill, 250*time.Millisecond),
		Dial:     cmp.Or(l.Dial, 10*time.Second),
		Stall:    cmp.Or(l.Stall, 10*time.Second),
		LowWater: cmp.Or(l.LowWater, 64<<10),

		Exchanges: cmp.Or(l.Exchanges, 2*abi.MaxHandles),
		Bodies:    cmp.Or(l.Bodies, 64<<20),
		Answer:    cmp.Or(l.Answer, 64<<20),
		Head:      cmp.Or(l.Head, 5*time.Minute),
		Body:      cmp.Or(l.Body, 2*time.Minute),
		Idle:      cmp.Or(l.Idle, 5*time.Minute),
	}
}

// MaxHeld returns how many bytes a table holds at most within the default limits, not counting
// queued ones. handles is for all handles together, each with a chunk in flight, and for the kept
// stderr. exchange is for one HTTP exchange in flight: a chunk of its answer, its connection, and
// the body of its request if that is short.
func MaxHeld() (handles, exchange int) {
	l := Limits{}.withDefaults()
	const (
		inlineBody = ChunkSize // httpclient holds longer ones against Bodies alone
		connection = 16 << 10
	)
	return l.Handles*(ChunkSize+4<<10) + 2*tailSize, ChunkSize + inlineBody + connection
}

// rateLimiter allows a burst of opens and then one per refill, so that a guest that opens in a loop
// costs its user a few processes and not a thousand. The mutex of its table guards it.
type rateLimiter struct {
	burst  int
	refill time.Duration
	spent  int
	since  time.Time // when the last spent open was given back
}

// allow reports whether one more open is allowed now, and counts it.
func (a *rateLimiter) allow(now time.Time) bool {
	back := int(now.Sub(a.since) / a.refill)
	if back >= a.spent {
		a.spent, a.since = 0, now
	} else {
		a.spent -= back
		a.since = a.since.Add(time.Duration(back) * a.refill)
	}
	if a.spent >= a.burst {
		return false
	}
	a.spent++
	return true
}
