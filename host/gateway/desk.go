package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// A legacy server asks its client in requests of its own; a modern client is asked in the result of
// one of its calls. So when a legacy server asks, a call of the client that is open is parked: the
// client gets its question as the result of the call, and the server goes on waiting for the answer.
// The client makes the call again, with its answers and the requestState, and then waits for the
// call that was parked. The server notices none of that, and is called once.

// Members of the params and results of a call that asks
// (2026-07-28/basic/patterns/mrtr#core-types).
const (
	memberRequests  = "inputRequests"
	memberResponses = "inputResponses"
	memberState     = "requestState"
)

// carries reports whether results of a method may ask.
func carries(method string) bool {
	switch method {
	case mcp.MethodCallTool, mcp.MethodGetPrompt, mcp.MethodReadResource:
		return true
	}
	return false
}

const (
	parkTime   = 5 * time.Minute // how long a client may take to answer
	maxParked  = 32              // calls of one client that wait for its answers
	maxWaiting = 32              // questions of a server that wait for a call
)

// desk has the calls of one modern client that may ask, and the questions of a legacy server. A call
// to a modern server is among them only if the client can be asked to sign in.
type desk struct {
	client  *modernClient
	running sync.WaitGroup // of calls

	mu      sync.Mutex
	closed  bool
	lastKey uint64
	calls   []*call     // oldest first
	waiting []*question // that no call could take
}

// Why a question has no answer, or a call no result. The server is told as well as the client.
var (
	errUnanswered = errors.New("the client did not answer in time")
	errLeft       = errors.New("the client gave up its request")
	errNoCall     = errors.New("no request of the client is open in which it could be asked")
	errTooMany    = fmt.Errorf("%d requests of this client wait for its answers, which is the most", maxParked)
)

// internal returns why as an error of the protocol.
func internal(why error) *rpc.Error {
	return &rpc.Error{Code: mcp.CodeInternalError, Message: why.Error()}
}

// serve answers a request that may ask: it makes a call, or follows one that was parked.
func (d *desk) serve(ctx context.Context, u *upstream, r *request, m *modernMeta) (json.RawMessage, error) {
	k := &call{
		binding: bindingOf(d.client.principal, u.session.Name(), r.method, r.params), capabilities: m.capabilities,
		request: r, token: m.token, wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	if sealed := member(r.params, memberState); sealed != nil {
		st, err := d.client.gateway.seal.open(unquote(sealed), k.binding, time.Now())
		switch {
		case err == nil:
			k, err = d.resume(st, r, m)
		case errors.Is(err, errForeignState), errors.Is(err, errOldState):
			k.foreign, err = err, nil // which a modern server may have given out
			err = d.begin(u, k, m)
		default:
			err = invalidParams("%v", err)
		}
		if err != nil {
			return nil, err
		}
	} else if err := d.begin(u, k, m); err != nil {
		return nil, err
	}
	return d.attend(ctx, k, r)
}

// begin makes a call.
func (d *desk) begin(u *upstream, k *call, m *modernMeta) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return internal(errLeft)
	}
	ctx, cancel := context.WithCancelCause(d.client.ctx)
	k.cancel = cancel
	d.lastKey++
	k.id = d.lastKey
	d.calls = append(d.calls, k)
	waiting := d.waiting
	d.waiting = nil
	for _, q := range waiting {
		d.assign(q)
	}
	r := k.request
	d.running.Go(func() {
		result, err := d.run(ctx, u, k, r, m)
		d.mu.Lock()
		defer d.mu.Unlock()
		k.result, k.err = result, err
		close(k.ended)
		pending := k.pending
		k.pending = nil
		for _, q := range pending { // they were about something else
			d.assign(q)
		}
	})
	return nil
}

// run makes the call at the server, and returns what the client gets of it.
func (d *desk) run(ctx context.Context, u *upstream, k *call, r *request, m *modernMeta) (json.RawMessage, error) {
	ctx = withAsker(ctx, func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		return d.ask(ctx, k, method, params)
	})
	era, err := u.era(ctx)
	if err != nil {
		return nil, d.client.gateway.fault(err)
	}
	out := host.Relay{Params: r.params, ClientInfo: m.info, ClientCapabilities: m.capabilities}
	if era == mcp.Legacy {
		if k.foreign == nil && member(r.params, memberResponses) != nil {
			k.foreign = errForeignState
		}
		if k.foreign != nil {
			return nil, invalidParams("%v", k.foreign)
		}
		defer d.client.logs.begin(ctx, u, r, m.level)()
		out = host.Relay{Params: legacyParams(r.params), Fulfil: true}
	}
	if m.token != nil {
		out.Progress = func(params json.RawMessage) { d.progress(ctx, k, params) }
	}
	result, err := u.relay(ctx, r, out)
	if err != nil {
		return nil, d.client.gateway.refusal(err, r.method, era, mcp.Modern)
	}
	if era == mcp.Legacy {
		result = complete(r.method, result)
	}
	return result, nil
}

// progress passes a notification of a call's progress to the request that follows the call, if one
// does and wants it.
func (d *desk) progress(ctx context.Context, k *call, params json.RawMessage) {
	d.mu.Lock()
	r, token := k.request, k.token
	d.mu.Unlock()
	if r != nil && token != nil {
		r.line.notify(ctx, mcp.NotificationProgress, withToken(params, token))
	}
}

// attend waits for the result of a call, or for a question, which parks the call. A client that
// gives up its request gives up the call.
func (d *desk) attend(ctx context.Context, k *call, r *request) (json.RawMessage, error) {
	for {
		select {
		case <-k.ended:
			d.drop(k, errLeft)
			return k.result, k.err
		case <-k.wake:
			result, err := d.park(k)
			if result != nil || err != nil {
				return result, err
			}
		case <-ctx.Done():
			d.drop(k, errLeft)
			<-k.ended // the server has been told
			return nil, context.Cause(ctx)
		}
	}
}

// park has the client asked all pending questions of a call. It returns nothing if there are none
// any more.
func (d *desk) park(k *call) (json.RawMessage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-k.ended:
		return nil, nil
	default:
	}
	if len(k.pending) == 0 {
		return nil, nil
	}
	parked := 0
	for _, other := range d.calls {
		if other.request == nil {
			parked++
		}
	}
	if parked >= maxParked {
		d.end(k, errTooMany)
		return nil, internal(errTooMany)
	}
	if k.asked == nil {
		k.asked = make(map[string]*question)
	}
	var asked []change
	for _, q := range k.pending {
		d.lastKey++
		key := strconv.FormatUint(d.lastKey, 10)
		k.asked[key] = q
		asked = append(asked, change{key, edit(nil, change{"method", quote(q.method)}, change{"params", q.params})})
	}
	k.pending, k.request, k.token = nil, nil, nil
	k.round++
	round := k.round
	k.expiry = time.AfterFunc(d.client.gateway.parkTime, func() { d.expire(k, round) })
	return d.inputRequired(state{call: k.id, round: round, binding: k.binding}, asked), nil
}

// inputRequired returns the result that asks the client.
func (d *desk) inputRequired(st state, asked []change) json.RawMessage {
	g := d.client.gateway
	st.expires = time.Now().Add(g.parkTime)
	return edit(nil, change{"resultType", quote(string(mcp.ResultInputRequired))},
		change{memberRequests, edit(nil, asked...)}, change{memberState, quote(g.seal.close(st))})
}

// resume brings the answers of a client to a parked call, which from then on is followed by r. What
// the client has not answered, it is asked again.
func (d *desk) resume(st state, r *request, m *modernMeta) (*call, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := slices.IndexFunc(d.calls, func(k *call) bool { return k.id == st.call })
	if at < 0 {
		return nil, invalidParams("%v", errExpiredState)
	}
	k := d.calls[at]
	switch {
	case k.round != st.round:
		return nil, invalidParams("%v", errUsedState)
	case k.request != nil:
		return nil, invalidParams("%v", errBusyState)
	}
	k.expiry.Stop()
	k.request, k.token = r, m.token
	answers := members(member(r.params, memberResponses))
	for key, q := range k.asked {
		if answer := answers[key]; answer != nil {
			q.settle(answer, nil)
		} else {
			k.pending = append(k.pending, q)
		}
	}
	k.asked = nil
	k.signal()
	return k, nil
}

// ask has a question answered: of the server or, about a call, of the host. A question of the server
// waits for a call that can take it if there is none.
func (d *desk) ask(ctx context.Context, about *call, method string, params json.RawMessage) (json.RawMessage, error) {
	q := &question{method: method, params: params, answered: make(chan struct{})}
	if meta(params, mcp.MetaProgressToken) != nil { // the client has no way to tell progress
		q.params = editMeta(params, change{mcp.MetaProgressToken, nil})
	}
	offered := d.client.offered
	if about != nil {
		offered = about.capabilities
	}
	if err := offers(offered, method, params); err != nil {
		return nil, err
	}
	d.mu.Lock()
	if about != nil {
		about.pending = append(about.pending, q)
		about.signal()
	} else {
		d.assign(q)
	}
	d.mu.Unlock()
	late := time.AfterFunc(d.client.gateway.parkTime, func() { d.withdraw(q, true, internal(errNoCall)) })
	defer late.Stop()
	select {
	case <-q.answered:
		return q.answer, q.err
	case <-ctx.Done():
		d.withdraw(q, false, context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
}

// assign gives a question to a call of a client that offers to answer it: to the newest that the
// client waits for, else to the newest that is parked. Without any the question waits for the next
// call. The caller holds mu.
func (d *desk) assign(q *question) {
	var best *call
	refusal := error(internal(errNoCall))
	offered := true
	for _, k := range d.calls {
		select {
		case <-k.ended:
			continue
		default:
		}
		if err := offers(k.capabilities, q.method, q.params); err != nil {
			refusal, offered = err, false
		} else if best == nil || best.request == nil || k.request != nil {
			best = k
		}
	}
	switch q.waits = false; {
	case best != nil:
		best.pending = append(best.pending, q)
		best.signal()
	case !offered || len(d.waiting) == maxWaiting:
		q.settle(nil, refusal)
	default:
		q.waits = true
		d.waiting = append(d.waiting, q)
	}
}

// withdraw takes back a question; if only says so, only one that waits for a call.
func (d *desk) withdraw(q *question, only bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if only && !q.waits {
		return
	}
	gone := func(other *question) bool { return other == q }
	d.waiting = slices.DeleteFunc(d.waiting, gone)
	for _, k := range d.calls {
		k.pending = slices.DeleteFunc(k.pending, gone)
		for key, other := range k.asked {
			if other == q {
				delete(k.asked, key)
			}
		}
	}
	q.settle(nil, err)
}

// expire ends a call whose client has not come back.
func (d *desk) expire(k *call, round uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k.request == nil && k.round == round {
		d.end(k, errUnanswered)
	}
}

// drop ends a call that the client follows no more.
func (d *desk) drop(k *call, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end(k, why)
}

// end removes a call, and cancels it if it has not ended. why is also the end of its questions. The
// caller holds mu.
func (d *desk) end(k *call, why error) {
	d.calls = slices.DeleteFunc(d.calls, func(other *call) bool { return other == k })
	for _, q := range k.pending {
		q.settle(nil, internal(why))
	}
	for _, q := range k.asked {
		q.settle(nil, internal(why))
	}
	k.pending, k.asked = nil, nil
	if k.expiry != nil {
		k.expiry.Stop()
	}
	k.cancel(why) // no *rpc.Error, which would count as the server's answer
}

// close ends all calls, and returns when nothing of them is left.
func (d *desk) close() {
	d.mu.Lock()
	d.closed = true
	for len(d.calls) > 0 {
		d.end(d.calls[0], errLeft)
	}
	d.mu.Unlock()
	d.running.Wait()
}
