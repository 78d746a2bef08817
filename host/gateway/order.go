package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
)

// cancellationOrder has a request wait for the cancellations that came before it. Without it the request
// could reach the server first. A server that does one thing at a time would then finish the cancelled
// work.
type cancellationOrder struct {
	mu        sync.Mutex
	open      map[string]*orderedRequest // the requests that are served, by id
	cancelled []*orderedRequest          // of these, those that were cancelled
}

// orderedRequest is one request.
type orderedRequest struct {
	after []*orderedRequest // that were cancelled before it came
	over  chan struct{}     // closed when the request is over; nil unless it was cancelled
}

// admit takes a request, in the order of arrival.
func (o *cancellationOrder) admit(id []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil {
		o.open = make(map[string]*orderedRequest)
	}
	o.open[string(id)] = &orderedRequest{after: slices.Clone(o.cancelled)}
}

// cancel takes the params of a cancellation, in the order of arrival.
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

// end says that a request is over: if it was cancelled, the server has been told.
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
