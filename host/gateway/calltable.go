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

// mayAsk reports whether the result of a method may ask the client for input.
func mayAsk(method string) bool {
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

// callTable has the calls of one modern client whose results may ask for input, and the questions of a
// legacy server. It has a call to a modern server only if the host may ask the client something: to sign in, or
// whether a call goes on.
type callTable struct {
	client  *modernClient
	running sync.WaitGroup // of calls

	mu      sync.Mutex
	closed  bool
	lastKey uint64          // the key of the newest question that the client was asked
	calls   []*parkableCall // oldest first
	waiting []*question     // questions that no call could take
}

// Errors of a question that has no answer, or of a call that has no result. Server and client both get
// them.
var (
	errUnanswered = errors.New("the client did not answer in time")
	errLeft       = errors.New("the client gave up its request")
	errNoCall     = errors.New("no request of the client is open in which it could be asked")
	errTooMany    = fmt.Errorf("%d requests of this client wait for its answers, which is the most", maxParked)
)

// internalError returns why as an error of the protocol.
func internalError(why error) *rpc.Error {
	return &rpc.Error{Code: mcp.CodeInternalError, Message: why.Error()}
}

// serve answers a request whose result may ask for input. It makes a call, or goes on with the
// parked call that the request names.
func (t *callTable) serve(ctx context.Context, u *upstream, r *request, m *modernMeta) (json.RawMessage, error) {
	c := &parkableCall{
		binding: bindingOf(t.client.binding, u.server.Name, r.method, r.params), capabilities: m.capabilities,
		request: r, level: m.wantedLevels(), wake: make(chan struct{}, 1), ended: make(chan struct{}), reports: make(chan json.RawMessage),
	}
	if sealed := member(r.params, memberState); sealed != nil {
		st, err := t.client.gateway.sealer.unseal(unquote(sealed), c.binding, time.Now())
		switch {
		case err == nil:
			c, err = t.resume(st, r, m)
			r.turn.pass() // the server has the call already
			if err == nil && u.serverInfo().Era == mcp.Legacy {
				t.client.logs.raise(ctx, u, m.wantedLevels())
			}
		case errors.Is(err, errForeignState), errors.Is(err, errOldState):
			c.stateError, err = err, nil // a modern server may have given out this requestState
			err = t.startCall(ctx, u, c, m)
		default:
			err = invalidParams("%v", err)
		}
		if err != nil {
			return nil, err
		}
	} else if err := t.startCall(ctx, u, c, m); err != nil {
		return nil, err
	}
	return t.awaitOutcome(ctx, c, r, m.token)
}

// outliving is the context of a client, with the values of a request that may end before.
type outliving struct {
	context.Context
	request context.Context
}

func (o outliving) Value(key any) any {
	if v := o.Context.Value(key); v != nil {
		return v
	}
	return o.request.Value(key)
}

// startCall begins a call, and gives it the questions that wait for one. It does not wait for the
// call. The call has the values of ctx, such as its trace, and ends with the client.
func (t *callTable) startCall(ctx context.Context, u *upstream, c *parkableCall, m *modernMeta) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return internalError(errLeft)
	}
	ctx, cancel := context.WithCancelCause(outliving{t.client.ctx, ctx})
	c.cancel = cancel
	c.id = t.client.gateway.lastCall.Add(1)
	t.calls = append(t.calls, c)
	waiting := t.waiting
	t.waiting = nil
	for _, q := range waiting {
		t.assign(q)
	}
	r := c.request
	t.running.Go(func() {
		result, err := t.relayCall(ctx, u, c, r, m)
		t.mu.Lock()
		defer t.mu.Unlock()
		c.result, c.err = result, err
		close(c.ended)
		pending := c.toAsk
		c.toAsk = nil
		for _, q := range pending { // the call has ended without them, so they belong to another
			t.assign(q)
		}
	})
	return nil
}

// relayCall sends the call to the server, and returns the result that the client gets.
func (t *callTable) relayCall(ctx context.Context, u *upstream, c *parkableCall, r *request, m *modernMeta) (json.RawMessage, error) {
	ctx = withAsker(ctx, c.capabilities, func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		return t.ask(ctx, c, method, params)
	})
	era, err := u.era(ctx)
	if err != nil {
		return nil, t.client.gateway.clientError(err)
	}
	out := host.Relay{Params: r.params, ClientInfo: m.info, ClientCapabilities: m.capabilities}
	if era == mcp.Legacy {
		if c.stateError == nil && member(r.params, memberResponses) != nil {
			c.stateError = errForeignState
		}
		if c.stateError != nil {
			return nil, invalidParams("%v", c.stateError)
		}
		defer t.client.logs.begin(ctx, u, &logListener{func() (clientChannel, int) { return t.logTarget(c) }})()
		// The client is not offered tasks, so it gets the result of the tool, see withoutTasks.
		out = host.Relay{Params: edit(legacyParams(r.params), change{"task", nil}), Fulfil: true}
	}
	if m.token != nil {
		out.Progress = func(params json.RawMessage) { c.report(ctx, params) }
	}
	var result json.RawMessage
	if era == mcp.Legacy {
		result, err = u.relay(ctx, r, out)
	} else {
		result, err = t.client.relayModern(ctx, u, r, out)
	}
	switch {
	case err != nil:
		return nil, t.client.gateway.eraError(err, r.method, era, mcp.Modern)
	case era == mcp.Legacy:
		return toModernResult(r.method, result), nil
	}
	return result, nil
}

// logTarget returns the channel of the request that waits for the call, and how many log levels the
// request wants. It returns 0 if no request waits.
func (t *callTable) logTarget(c *parkableCall) (to clientChannel, wanted int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.request == nil {
		return nil, 0
	}
	return c.request.channel, c.level
}

// awaitOutcome waits for the result of a call, or until a question parks the call. Meanwhile it tells
// the client of progress with the token of the request, if there is one, so none comes behind the answer.
// If the client gives up the request, the call is cancelled.
func (t *callTable) awaitOutcome(ctx context.Context, c *parkableCall, r *request, token json.RawMessage) (json.RawMessage, error) {
	tell := progress(ctx, r.channel, token)
	if tell == nil {
		tell = func(json.RawMessage) {}
	}
	for {
		select {
		case params := <-c.reports:
			tell(params)
		case <-c.ended:
			t.cancelCall(c, errLeft)
			return c.result, c.err
		case <-c.wake:
			select {
			case params := <-c.reports: // of before the question
				tell(params)
			default:
			}
			result, err := t.park(c)
			if result != nil || err != nil {
				return result, err
			}
		case <-ctx.Done():
			t.cancelCall(c, whyGivenUp(ctx))
			<-c.ended // the server has been told
			return c.result, c.err
		}
	}
}

// park parks a call, and returns the result that asks the client all pending questions of the
// call. It returns nil and does not park if there are no such questions any more.
func (t *callTable) park(c *parkableCall) (json.RawMessage, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-c.ended:
		return nil, nil
	default:
	}
	if len(c.toAsk) == 0 {
		return nil, nil
	}
	parked := 0
	for _, other := range t.calls {
		if other.request == nil {
			parked++
		}
	}
	if parked >= maxParked {
		t.removeCall(c, errTooMany)
		return nil, internalError(errTooMany)
	}
	if c.askedByKey == nil {
		c.askedByKey = make(map[string]*question)
	}
	var asked []change
	for _, q := range c.toAsk {
		t.lastKey++
		key := strconv.FormatUint(t.lastKey, 10)
		c.askedByKey[key] = q
		asked = append(asked, change{key, edit(nil, change{"method", quote(q.method)}, change{"params", q.params})})
	}
	if retain := c.request.retain; retain != nil { // before the response: after it, the client may be evicted
		c.release = retain()
	}
	c.toAsk, c.request = nil, nil
	c.round++
	t.client.gateway.counts.parked.Add(1)
	round := c.round
	c.expiry = time.AfterFunc(t.client.gateway.parkTime, func() { t.expire(c, round) })
	return t.inputRequired(requestState{call: c.id, round: round, binding: c.binding}, asked), nil
}

// inputRequired returns a result that asks the client for input. st identifies the parked call.
func (t *callTable) inputRequired(st requestState, asked []change) json.RawMessage {
	g := t.client.gateway
	st.expires = time.Now().Add(g.parkTime)
	return edit(nil, change{"resultType", quote(string(mcp.ResultInputRequired))},
		change{memberRequests, edit(nil, asked...)}, change{memberState, quote(g.sealer.seal(st))})
}

// resume passes the answers of a client to its parked call. From then on r waits for the call.
// Questions that r does not answer are asked again.
func (t *callTable) resume(st requestState, r *request, m *modernMeta) (*parkableCall, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.IndexFunc(t.calls, func(c *parkableCall) bool { return c.id == st.call })
	if at < 0 {
		return nil, invalidParams("%v", errExpiredState)
	}
	c := t.calls[at]
	switch {
	case c.round != st.round:
		return nil, invalidParams("%v", errUsedState)
	case c.request != nil:
		return nil, invalidParams("%v", errBusyState)
	}
	c.unpark()
	c.request, c.level = r, m.wantedLevels()
	answers := members(member(r.params, memberResponses))
	for key, q := range c.askedByKey {
		if answer := answers[key]; answer != nil {
			q.settle(answer, nil)
		} else {
			c.toAsk = append(c.toAsk, q)
		}
	}
	c.askedByKey = nil
	c.signal()
	return c, nil
}

// ask asks the client a question in the result of a call, and waits for the answer. For a question of
// the host, about is the call that it belongs to. For a question of the server, about is nil: the
// question goes to any call whose client offers to answer it, and waits for one if there is none.
func (t *callTable) ask(ctx context.Context, about *parkableCall, method string, params json.RawMessage) (json.RawMessage, error) {
	q := &question{method: method, params: params, answered: make(chan struct{})}
	if meta(params, mcp.MetaProgressToken) != nil { // the client cannot report progress
		q.params = editMeta(params, change{mcp.MetaProgressToken, nil})
	}
	offered := t.client.offered
	if about != nil {
		offered = about.capabilities
	}
	if err := checkOffered(offered, method, params); err != nil {
		return nil, err
	}
	t.mu.Lock()
	if about != nil {
		about.toAsk = append(about.toAsk, q)
		about.signal()
	} else {
		t.assign(q)
	}
	t.mu.Unlock()
	late := time.AfterFunc(t.client.gateway.parkTime, func() { t.withdrawIfWaiting(q, internalError(errNoCall)) })
	defer late.Stop()
	select {
	case <-q.answered:
		return q.answer, q.err
	case <-ctx.Done():
		t.withdraw(q, context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
}

// assign gives a question to a call whose client offers to answer it: to the newest call that a
// request waits for, else to the newest parked call. If no call is open, the question waits for
// the next one. If there are calls but their clients do not offer to answer it, or if too many
// questions wait, assign refuses it. The caller holds mu.
func (t *callTable) assign(q *question) {
	var best *parkableCall
	refusal := error(internalError(errNoCall))
	offered := true
	for _, c := range t.calls {
		select {
		case <-c.ended:
			continue
		default:
		}
		if err := checkOffered(c.capabilities, q.method, q.params); err != nil {
			refusal, offered = err, false
		} else if best == nil || best.request == nil || c.request != nil {
			best = c
		}
	}
	switch {
	case best != nil:
		best.toAsk = append(best.toAsk, q)
		best.signal()
	case !offered || len(t.waiting) == maxWaiting:
		q.settle(nil, refusal)
	default:
		t.waiting = append(t.waiting, q)
	}
}

// withdrawIfWaiting ends a question with err if it still waits for a call.
func (t *callTable) withdrawIfWaiting(q *question, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := slices.Index(t.waiting, q); at >= 0 {
		t.waiting = slices.Delete(t.waiting, at, at+1)
		q.settle(nil, err)
	}
}

// withdraw ends a question with err, and removes it from all calls.
func (t *callTable) withdraw(q *question, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	gone := func(other *question) bool { return other == q }
	t.waiting = slices.DeleteFunc(t.waiting, gone)
	for _, c := range t.calls {
		c.toAsk = slices.DeleteFunc(c.toAsk, gone)
		for key, other := range c.askedByKey {
			if other == q {
				delete(c.askedByKey, key)
			}
		}
	}
	q.settle(nil, err)
}

// expire ends a call if it is still parked in this round, because the client has not answered.
func (t *callTable) expire(c *parkableCall, round uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.request == nil && c.round == round {
		t.removeCall(c, errUnanswered)
	}
}

// cancelCall removes a call for which no request waits any more.
func (t *callTable) cancelCall(c *parkableCall, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removeCall(c, why)
}

// removeCall removes a call, and cancels it if it has not ended. Its questions end with why as their
// error. The caller holds mu.
func (t *callTable) removeCall(c *parkableCall, why error) {
	t.calls = slices.DeleteFunc(t.calls, func(other *parkableCall) bool { return other == c })
	for _, q := range c.toAsk {
		q.settle(nil, internalError(why))
	}
	for _, q := range c.askedByKey {
		q.settle(nil, internalError(why))
	}
	c.toAsk, c.askedByKey = nil, nil
	c.unpark()
	c.cancel(why) // why must not be an *rpc.Error: that would count as the server's answer
}

// close ends all calls, and returns when nothing of them is left.
func (t *callTable) close() {
	t.mu.Lock()
	t.closed = true
	for len(t.calls) > 0 {
		t.removeCall(t.calls[0], errLeft)
	}
	t.mu.Unlock()
	t.running.Wait()
}
