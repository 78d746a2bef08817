package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
)

// order keeps a request behind the cancellations that came before it. Each request is served on a
// goroutine of its own, so it could else reach the server before a cancellation does, and a server
// that does one thing at a time would go on with what nobody wants.
type order struct {
	mu      sync.Mutex
	open    map[string]*turn // the requests that are served, by id
	leaving []*turn          // of these, those that were cancelled
}

// turn is one request.
type turn struct {
	after []*turn       // that were cancelled before it came
	over  chan struct{} // closed when the request is over; nil unless it was cancelled
}

// admit takes a request, in the order of arrival.
func (o *order) admit(id []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil {
		o.open = make(map[string]*turn)
	}
	o.open[string(id)] = &turn{after: slices.Clone(o.leaving)}
}

// cancel takes the params of a cancellation, in the order of arrival.
func (o *order) cancel(params json.RawMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.open[string(member(params, "requestId"))]; t != nil && t.over == nil {
		t.over = make(chan struct{})
		o.leaving = append(o.leaving, t)
	}
}

// await waits until the cancellations before a request have been passed on.
func (o *order) await(ctx context.Context, id []byte) error {
	o.mu.Lock()
	after := o.open[string(id)].after
	o.mu.Unlock()
	for _, t := range after {
		select {
		case <-t.over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// end says that a request is over: if it was cancelled, the server has been told.
func (o *order) end(id []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.open[string(id)]
	delete(o.open, string(id))
	if t.over != nil {
		o.leaving = slices.DeleteFunc(o.leaving, func(other *turn) bool { return other == t })
		close(t.over)
	}
}
