package gateway

import (
	"context"
	"encoding/json"
	"time"
)

// parkableCall is one call to a server. It lasts from its first request to its result or its end,
// over all requests by which the client follows it.
type parkableCall struct {
	id           uint64
	binding      [32]byte
	capabilities json.RawMessage // of the client
	cancel       context.CancelCauseFunc
	stateError   error         // why the requestState that it came with was not ours; nil if it had none
	wake         chan struct{} // has a token when there are pending questions
	ended        chan struct{} // closed when result and err are set
	result       json.RawMessage
	err          error

	// Guarded by the mu of the callTable:
	request    *request        // of the client, which waits; nil while the call is parked
	token      json.RawMessage // of that request, for progress
	level      int             // the number of log levels that this request wants
	round      uint32          // how often the client was asked
	toAsk      []*question     // that the client was not asked yet
	askedByKey map[string]*question
	expiry     *time.Timer // of the call while it is parked
	release    func()      // has the client not be in use any more; nil unless the call is parked
}

// question is a request of the server to the client.
type question struct {
	method   string
	params   json.RawMessage
	answered chan struct{} // closed when answer or err is set
	answer   json.RawMessage
	err      error
}

// unpark ends the time for which the call is parked. The caller holds mu of the callTable.
func (c *parkableCall) unpark() {
	if c.expiry != nil {
		c.expiry.Stop()
	}
	if c.release != nil {
		c.release()
		c.release = nil
	}
}

// signal wakes the request that follows the call, if there is one. The caller holds mu.
func (c *parkableCall) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// settle ends a question. The caller holds mu of the callTable.
func (q *question) settle(answer json.RawMessage, err error) {
	select {
	case <-q.answered:
	default:
		q.answer, q.err = answer, err
		close(q.answered)
	}
}
