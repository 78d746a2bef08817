package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
)

// cancellationOrder makes a request wait until the cancellations that came before it are passed on.
// Otherwise the request could reach the server first, and a server that does one thing at a time would
// finish the cancelled work.
type cancellationOrder struct {
	mu        sync.Mutex
	open      map[string]*orderedRequest // the requests that are served, by id
	cancelled []*orderedRequest          // of these, those that were cancelled
}

// orderedRequest is one request.
type orderedRequest struct {
	after []*orderedRequest // requests that were cancelled before it came
	over  chan struct{}     // closed when the request is over; nil unless it was cancelled
}

// admit adds a request. The caller calls it in the order of arrival.
func (o *cancellationOrder) admit(id []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil {
		o.open = make(map[string]*orderedRequest)
	}
	o.open[string(id)] = &orderedRequest{after: slices.Clone(o.cancelled)}
}

// cancel marks the request that a cancellation names. params are those of the cancellation. The
// caller calls it in the order of arrival.
func (o *cancellationOrder) cancel(params json.RawMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r := o.open[string(member(params, "requestId"))]; r != nil && r.over == nil {
		r.over = make(chan struct{})
		o.cancelled = append(o.cancelled, r)
	}
}

// await waits until the cancellations before a request have been passed on.
func (o *cancellationOrder) await(ctx context.Context, id []byte) error {
	o.mu.Lock()
	after := o.open[string(id)].after
	o.mu.Unlock()
	for _, r := range after {
		select {
		case <-r.over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// end removes a request that is over. If it was cancelled, the server has been told of that.
func (o *cancellationOrder) end(id []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.open[string(id)]
	delete(o.open, string(id))
	if r.over != nil {
		o.cancelled = slices.DeleteFunc(o.cancelled, func(other *orderedRequest) bool { return other == r })
		close(r.over)
	}
}
