package capability

import (
	"sync"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// voice speaks to a sink, one call at a time, until it is muted. Everything but
// Drained comes from goroutines of the handle that follow each other, so the
// lock is there for Drained alone: the writer must not wait behind a Data that
// blocks, and leaves its word with whoever has the turn.
type voice struct {
	sink    hostio.Sink
	turn    sync.Mutex
	opened  atomic.Bool // Opened was said
	muted   atomic.Bool // nothing more is said
	drained atomic.Bool
}

// begin takes the turn, unless there is nothing more to say.
func (v *voice) begin() bool {
	v.turn.Lock()
	if v.muted.Load() {
		v.turn.Unlock()
		return false
	}
	return true
}

// done gives the turn back, and says what came up meanwhile.
func (v *voice) done() {
	v.turn.Unlock()
	v.relay()
}

// relay says Drained for whoever could not get the turn. A word that is left
// between the check and the end of a turn is found by the check after it.
func (v *voice) relay() {
	for v.drained.Load() && v.opened.Load() && v.turn.TryLock() {
		if v.drained.Swap(false) && !v.muted.Load() {
			v.sink.Drained()
		}
		v.turn.Unlock()
	}
}

// sayDrained never waits: with the turn taken, whoever has it says it.
func (v *voice) sayDrained() {
	v.drained.Store(true)
	v.relay()
}

func (v *voice) sayOpened() {
	if v.begin() {
		v.opened.Store(true)
		v.sink.Opened()
		v.done()
	}
}

// saySealed is sayOpened with what signs in, if there is something.
func (v *voice) saySealed(blob []byte) {
	if len(blob) == 0 {
		v.sayOpened()
	} else if v.begin() {
		v.opened.Store(true)
		v.sink.Sealed(blob)
		v.done()
	}
}

// sayHead opens the voice, as sayOpened does elsewhere.
func (v *voice) sayHead(status int, headers []abi.Pair, length int64, body []byte, last bool) {
	if v.begin() {
		v.opened.Store(true)
		v.sink.Head(status, headers, length, body, last)
		v.done()
	}
}

func (v *voice) sayData(p []byte, last bool) {
	if v.begin() {
		v.sink.Data(p, last)
		v.done()
	}
}

func (v *voice) sayEnd() {
	if v.begin() {
		v.sink.End()
		v.done()
	}
}

// sayExit and sayError are the last words: nothing is said after either.
func (v *voice) sayExit(code int, detail string) {
	if v.begin() {
		v.sink.Exit(code, detail)
		v.muted.Store(true)
		v.done()
	}
}

func (v *voice) sayError(status abi.Status, err error) {
	if v.begin() {
		v.sink.Error(status, err)
		v.muted.Store(true)
		v.done()
	}
}
