package gateway

import (
	"context"
	"encoding/json"
	"time"
)

// parkableCall is one call to a server. Several requests of the client may wait for it, one after
// the other: each but the last has got questions. It ends with a result or an error.
type parkableCall struct {
	id           uint64
	binding      [32]byte
	capabilities json.RawMessage // of the client
	cancel       context.CancelCauseFunc
	stateError   error                // why the requestState of its first request is not one of this gateway; nil if there was none
	wake         chan struct{}        // has a token when there are pending questions
	reports      chan json.RawMessage // takes progress to the request that waits for the call
	ended        chan struct{}        // closed when result and err are set
	result       json.RawMessage
	err          error

	// Guarded by the mu of the callTable:
	request    *request    // the request that waits for the call; nil while the call is parked
	level      int         // the number of log levels that this request wants
	round      uint32      // how often the client was asked
	toAsk      []*question // questions that the client was not asked yet
	askedByKey map[string]*question
	expiry     *time.Timer // ends the call if it stays parked
	release    func()      // ends the use of the client by the parked call; nil for none
}

// question is a request of the server to the client.
type question struct {
	method   string
	params   json.RawMessage
	answered chan struct{} // closed when answer or err is set
	answer   json.RawMessage
	err      error
}

// report passes the params of a notification of progress to the request that waits for the call. It waits
// while the call is parked, until ctx ends.
func (c *parkableCall) report(ctx context.Context, params json.RawMessage) {
	select {
	case c.reports <- params:
	case <-ctx.Done():
	}
}

// unpark undoes the parts of park that last: it stops expiry and calls release. The caller holds mu
// of the callTable.
func (c *parkableCall) unpark() {
	if c.expiry != nil {
		c.expiry.Stop()
	}
	if c.release != nil {
		c.release()
		c.release = nil
	}
}

// signal wakes the request that waits for the call, if there are questions to ask. The caller holds
// mu.
func (c *parkableCall) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// settle ends a question with an answer or an error. A second call does nothing. The caller holds mu
// of the callTable.
func (q *question) settle(answer json.RawMessage, err error) {
	select {
	case <-q.answered:
	default:
		q.answer, q.err = answer, err
		close(q.answered)
	}
}
